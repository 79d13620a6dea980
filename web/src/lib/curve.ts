/** A curve to draw. */
export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Ends of an interval about the values. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** A bound, beside what is reached. */
  readonly dashed?: boolean;
}

/** The values of an axis that are written under it: on a logarithmic scale at least a twelfth of its length apart. */
export function written(x: readonly number[]): number[] {
  const last = x[x.length - 1];
  const first = x[0];
  if (first === undefined || last === undefined) {
    return [];
  }
  const apart = Math.log(last / first) / 12;
  const kept = [last];
  for (const value of x.slice(0, -1).reverse()) {
    if (Math.log((kept[kept.length - 1] ?? last) / value) >= apart) {
      kept.push(value);
    }
  }
  return kept.reverse();
}

/** A curve to draw. */
export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Ends of an interval about the values. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** A bound, with the reached value. */
  readonly dashed?: boolean;
}

/** Whether numbers are all that there are from the first to the last. Only then is it known what holds between two. */
export function successive(x: readonly number[]): boolean {
  return x.length > 1 && x.every((value, index) => index === 0 || value === (x[index - 1] ?? 0) + 1);
}

/** Two lines nearer than this share of the greatest value cannot be distinguished. */
const NEAR = 0.012;

/** The line drawn over another one, which it hides at every point that both have. */
export function over(lines: readonly Line[], below: number): Line | undefined {
  const most = Math.max(...lines.flatMap(({ values }) => values).map((value) => value ?? 0));
  const hides = (other: Line): boolean => {
    const pairs = (lines[below]?.values ?? []).map((value, index) => [value, other.values[index] ?? null] as const);
    const both = pairs.filter(([one, two]) => one !== null && two !== null);
    return both.length > 0 && both.every(([one, two]) => Math.abs((one ?? 0) - (two ?? 0)) < NEAR * most);
  };
  return lines.slice(below + 1).find(hides);
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

/** A curve to draw. */
export interface Line {
  readonly label: string;
  /** The place of its colour and mark, where it is not its own. */
  readonly colour?: number;
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

/** Bars at one place stand so far from each other at most, in pixels. */
const APART = 9;

/** How far to the right each of `count` bars stands on an axis `width` long, so that none lies over another. */
export function asides(count: number, x: readonly number[], width: number, log: boolean): number[] {
  const at = x.map((value) => (log ? Math.log(value) : value));
  const span = (at[at.length - 1] ?? 0) - (at[0] ?? 0);
  const gaps = at.slice(1).map((value, index) => ((value - (at[index] ?? 0)) / span) * width);
  const step = Math.min(APART, (0.8 * Math.min(width, ...gaps)) / Math.max(count, 1));
  return Array.from({ length: count }, (_, index) => step * (index - (count - 1) / 2));
}

/** Whether numbers have more room by their ratios than by their differences. */
export function byRatio(x: readonly number[]): boolean {
  const least = (place: (value: number) => number): number => {
    const span = place(x[x.length - 1] ?? 0) - place(x[0] ?? 0);
    return Math.min(...x.slice(1).map((value, index) => (place(value) - place(x[index] ?? 0)) / span));
  };
  return least(Math.log) > least((value) => value);
}

/** Whether numbers are neighbours: an interval is a band only where nobody asks what lies between. */
export function near(x: readonly number[]): boolean {
  return x.every((value, index) => index === 0 || value <= 2 * (x[index - 1] ?? 0) * (1 + 1e-9));
}

/** Marks of lines, as letters in a key; they are drawn in this order, too. */
export const MARKS = ["●", "■", "◆", "▲", "▼", "✚"];

/** Draws a mark of six pixels about a place. */
export function mark(context: CanvasRenderingContext2D, index: number, x: number, y: number, half: number): void {
  context.beginPath();
  const shape = index % MARKS.length;
  const corners: Readonly<Record<number, readonly (readonly [number, number])[]>> = {
    1: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    2: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    3: [[0, -1.25], [1.25, 0.9], [-1.25, 0.9]],
    4: [[0, 1.25], [1.25, -0.9], [-1.25, -0.9]],
    5: [[-0.4, -1.3], [0.4, -1.3], [0.4, -0.4], [1.3, -0.4], [1.3, 0.4], [0.4, 0.4], [0.4, 1.3], [-0.4, 1.3], [-0.4, 0.4], [-1.3, 0.4], [-1.3, -0.4], [-0.4, -0.4]],
  };
  const outline = corners[shape];
  if (outline) outline.forEach(([across, down]) => context.lineTo(x + half * across, y + half * down));
  else context.arc(x, y, half, 0, 2 * Math.PI);
  context.closePath();
  context.fill();
}

/** Nearer than this share of the greatest value, two lines cannot be told apart. */
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

/** The values of an axis that are written under it: at least a twelfth of its length apart. */
export function written(x: readonly number[], log = true): number[] {
  const place = (value: number): number => (log ? Math.log(value) : value);
  const last = x[x.length - 1];
  const first = x[0];
  if (first === undefined || last === undefined) {
    return [];
  }
  const apart = (place(last) - place(first)) / 12;
  const kept = [last];
  for (const value of x.slice(0, -1).reverse()) {
    if (place(kept[kept.length - 1] ?? last) - place(value) >= apart) {
      kept.push(value);
    }
  }
  return kept.reverse();
}

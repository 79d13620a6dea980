/** What is drawn where, and in which colour. */

/** A colour as red, green, blue, 0 to 255. */
export type Colour = readonly [number, number, number];

/** Ends and middles of a sequential scale: pale to deep on paper, dim to bright on a dark ground. */
const LIGHT: readonly Colour[] = [
  [255, 248, 228],
  [252, 216, 150],
  [242, 154, 88],
  [206, 72, 52],
  [126, 16, 42],
];
const DARK: readonly Colour[] = [
  [40, 35, 42],
  [94, 42, 54],
  [164, 62, 54],
  [228, 126, 62],
  [255, 222, 140],
];

/** The colour of a share of the hottest, 0 to 1. Lightness is monotonous, so that it reads without hue, too. */
export function heat(share: number, dark: boolean): Colour {
  const stops = dark ? DARK : LIGHT;
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const from = stops[low] ?? [0, 0, 0];
  const to = stops[low + 1] ?? from;
  const part = at - low;
  return [mix(from[0], to[0], part), mix(from[1], to[1], part), mix(from[2], to[2], part)];
}

function mix(from: number, to: number, part: number): number {
  return Math.round(from + (to - from) * part);
}

/** `rgb(1 2 3)`. */
export function css([red, green, blue]: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** A matrix, coarsened: the worst of each block, so that no hot cell vanishes between pixels. */
export interface Level {
  readonly rows: number;
  readonly cols: number;
  /** Cells of the matrix to one of this level, each way. */
  readonly block: number;
  readonly values: Float32Array;
}

/** The matrix itself, then halves of it, down to one cell. */
export function pyramid(rows: number, cols: number, load: readonly number[]): Level[] {
  const levels: Level[] = [{ rows, cols, block: 1, values: Float32Array.from(load) }];
  for (let last = levels[0]; last && (last.rows > 1 || last.cols > 1); last = levels[levels.length - 1]) {
    levels.push(halved(last));
  }
  return levels;
}

function halved(level: Level): Level {
  const rows = Math.ceil(level.rows / 2);
  const cols = Math.ceil(level.cols / 2);
  const values = new Float32Array(rows * cols).fill(-1);
  for (let row = 0; row < level.rows; row++) {
    for (let col = 0; col < level.cols; col++) {
      const to = (row >> 1) * cols + (col >> 1);
      values[to] = Math.max(values[to] ?? -1, level.values[row * level.cols + col] ?? -1);
    }
  }
  return { rows, cols, block: level.block * 2, values };
}

/** The finest level whose cells are at least `least` pixels wide where a cell of the matrix is `cell` pixels. */
export function fitting(levels: readonly Level[], cell: number, least = 1): Level | undefined {
  return levels.find((level) => level.block * cell >= least) ?? levels[levels.length - 1];
}

/** Round numbers that divide a range into about `wanted` parts. */
export function ticks(from: number, to: number, wanted = 6): number[] {
  const span = to - from;
  if (!(span > 0)) {
    return [from];
  }
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  const first = Math.ceil(from / step);
  const made: number[] = [];
  for (let at = first; at * step <= to + step * 1e-9; at++) {
    made.push(at * step);
  }
  return made;
}

/** A window on a line: its visible part. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The window, made larger or smaller about a point of it, and kept within the whole. */
export function zoomed(seen: Span, whole: Span, about: number, factor: number): Span {
  const from = about - (about - seen.from) * factor;
  return within({ from, to: from + (seen.to - seen.from) * factor }, whole);
}

/** The window, moved by a part of itself, and kept within the whole. */
export function moved(seen: Span, whole: Span, by: number): Span {
  const distance = (seen.to - seen.from) * by;
  return within({ from: seen.from + distance, to: seen.to + distance }, whole);
}

function within(seen: Span, whole: Span): Span {
  const width = Math.min(seen.to - seen.from, whole.to - whole.from);
  const from = Math.min(Math.max(seen.from, whole.from), whole.to - width);
  return { from, to: from + width };
}

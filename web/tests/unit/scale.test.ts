import { expect, test } from "vitest";
import { fitting, heat, moved, pyramid, ticks, zoomed } from "../../src/lib/scale";

const luminance = ([red, green, blue]: readonly [number, number, number]): number => 0.21 * red + 0.72 * green + 0.07 * blue;

test.each([false, true])("the scale of loads is monotonous in lightness (dark: %s)", (dark) => {
  const steps = Array.from({ length: 51 }, (_, step) => luminance(heat(step / 50, dark)));
  const falls = steps.slice(1).every((value, index) => (dark ? value > (steps[index] ?? 0) : value < (steps[index] ?? 0)));
  expect(falls).toBe(true);
  expect(heat(7, dark)).toEqual(heat(1, dark));
});

test("the worst cell is in every level of the pyramid", () => {
  const load = new Array<number>(7 * 5).fill(-1);
  load[4 * 5 + 3] = 0.9;
  load[0] = 0.2;
  const levels = pyramid(7, 5, load);
  expect(levels.map(({ rows, cols, block }) => [rows, cols, block])).toEqual([[7, 5, 1], [4, 3, 2], [2, 2, 4], [1, 1, 8]]);
  for (const { values } of levels) expect(Math.max(...values)).toBeCloseTo(0.9);
  expect(levels[1]?.values[2 * 3 + 1]).toBeCloseTo(0.9);
});

test("the level drawn has cells of a pixel", () => {
  const levels = pyramid(64, 64, new Array<number>(64 * 64).fill(0));
  expect(fitting(levels, 3)?.block).toBe(1);
  expect(fitting(levels, 0.3)?.block).toBe(4);
  expect(fitting(levels, 1e-6)?.block).toBe(64);
});

test("ticks are round, within the range, and about as many as wanted", () => {
  expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(0.013, 0.047, 4)).toEqual([0.02, 0.03, 0.04]);
  expect(ticks(5, 5)).toEqual([5]);
});

test("a window keeps what it is zoomed about, and stays inside", () => {
  const whole = { from: 0, to: 100 };
  const seen = zoomed(whole, whole, 25, 0.5);
  expect(seen).toEqual({ from: 12.5, to: 62.5 });
  expect((25 - seen.from) / 50).toBeCloseTo(0.25);
  expect(moved(seen, whole, 10)).toEqual({ from: 50, to: 100 });
  expect(moved(seen, whole, -10)).toEqual({ from: 0, to: 50 });
  expect(zoomed(seen, whole, 25, 9)).toEqual(whole);
});

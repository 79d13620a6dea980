import { expect, test } from "vitest";
import { asides, byRatio, near, over, successive, written } from "../../src/lib/curve";

test("an axis of a few sizes writes all of them, one of many those that have room", () => {
  expect(written([32, 64, 128, 256, 512, 1024])).toEqual([32, 64, 128, 256, 512, 1024]);
  const many = Array.from({ length: 64 }, (_, index) => 16 * (index + 1));
  const shown = written(many);
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.length).toBeLessThanOrEqual(13);
  expect(shown[shown.length - 1]).toBe(1024);
  for (const [index, value] of shown.slice(1).entries()) expect(value / (shown[index] ?? 1)).toBeGreaterThan(1.3);
});

test("an axis without values writes nothing, one with a single value that one", () => {
  expect(written([])).toEqual([]);
  expect(written([64])).toEqual([64]);
});

test("steps need every number from the first to the last", () => {
  expect(successive([4, 5, 6])).toBe(true);
  expect([[64, 128, 192], [64], [2, 3, 5]].some(successive)).toBe(false);
});

test("a line that another one hides names it", () => {
  const line = (label: string, values: (number | null)[]): { label: string; values: (number | null)[] } => ({ label, values });
  const lines = [line("full", [1.91, 1.92, null]), line("half", [1.91, 1.92, 3]), line("apart", [1, 1.5, 3])];
  expect(lines.map((_, index) => over(lines, index)?.label)).toEqual(["half", undefined, undefined]);
});

test("bars at one place stand apart, and none at its neighbour's", () => {
  expect(asides(3, [64, 512], 400, true)).toEqual([-9, 0, 9]);
  expect(asides(1, [64, 512], 400, true)).toEqual([0]);
  const dense = asides(4, Array.from({ length: 100 }, (_, index) => index + 1), 400, false);
  expect((dense[3] ?? 0) - (dense[0] ?? 0)).toBeLessThan(400 / 99);
  expect(new Set(dense).size).toBe(4);
});

test("only numbers at most a factor of two apart are neighbours", () => {
  expect(near([64, 128, 192])).toBe(true);
  expect(near([8, 1048576])).toBe(false);
});

test("even steps stand on an even axis, powers on a logarithmic one", () => {
  expect(byRatio([64, 128, 256, 1024])).toBe(true);
  expect(byRatio([64, 128, 192, 256, 320])).toBe(false);
});

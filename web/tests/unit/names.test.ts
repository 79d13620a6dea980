import { expect, test } from "vitest";
import { short } from "../../src/lib/names";

test("short names stay as they are; ranges of switches are told as such", () => {
  expect(short(["leaf 0", "leaf 1"])).toEqual(["leaf 0", "leaf 1"]);
  expect(short(["middle 0 to middle 5", "spine 3"])).toEqual(["middle 0–5", "spine 3"]);
  expect(short(["leaf 0 to middle 5"])).toEqual(["leaf 0 to middle 5"]);
});

test("long names lose what all begin with, never their ends, and stay apart", () => {
  const long = [1, 12, 117].map((index) => `datacentre-west.row-7.rack-switch-${index}`);
  expect(short(long)).toEqual(["1", "12", "117"]);
  const two = ["a-very-long-name-of-a-switch-in-row-1", "b-very-long-name-of-a-switch-in-row-2"];
  const shown = short(two);
  expect(shown.every((name) => name.length <= 18)).toBe(true);
  expect(shown.map((name) => [name[0], name[name.length - 1]])).toEqual([["a", "1"], ["b", "2"]]);
  expect(short([])).toEqual([]);
});

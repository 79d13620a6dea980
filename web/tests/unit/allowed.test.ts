import { expect, test } from "vitest";
import { COUNTS, fault, RATIO, SIZE, whole } from "../../src/lib/allowed";

test("a number of nodes is one whole number", () => {
  expect(["2", "512"].every(whole(2).holds)).toBe(true);
  expect(["", "0", "1", "-1", "2.5", "64,128", "1e3", "x"].some(whole(2).holds)).toBe(false);
  expect(whole(0, 511).allowed).toBe("one whole number from 0 to 511");
  expect(whole(0, 511).holds("512")).toBe(false);
});

test("sizes, counts and ratios are read as the command reads them", () => {
  expect(["8", "64KiB", "1 MB", "0", "3B"].every(SIZE.holds)).toBe(true);
  expect(["", "abc", "-5", "1.5KiB", "4k"].some(SIZE.holds)).toBe(false);
  expect(["64", "64,128", "64..1024..+64", "2..1024..x2", "2..8, 16"].every(COUNTS.holds)).toBe(true);
  expect(["", "x", "64,", "64..", "-1"].some(COUNTS.holds)).toBe(false);
  expect(["", "1", "2", "1.5", "2:1", "3:2"].every(RATIO.holds)).toBe(true);
  expect(["0", "0.5", "1:2", "x", "2:0"].some(RATIO.holds)).toBe(false);
});

test("an error of the engine is told at its field", () => {
  expect(fault("size: `abc` is not a size", "size")).toBe("`abc` is not a size");
  expect(fault("size: `abc` is not a size", "nodes")).toBe("");
  expect(fault("ib-x with 9000 nodes: 9000 nodes do not fit", "nodes")).toBe("9000 nodes do not fit");
  expect(fault("foo: not in the catalog", "fabric", "foo")).toBe("not in the catalog");
  expect(fault("", "fabric")).toBe("");
});

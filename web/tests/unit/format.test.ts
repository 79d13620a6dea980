import { describe, expect, test } from "vitest";
import { byKey, bytes, number, percent, rate, time, words } from "../../src/lib/format";

test.each([
  [0, "0"],
  [1234, "1,234"],
  [12345.678, "12,346"],
  [49684.619, "49,685"],
  [3.14159, "3.142"],
  [0.00012346, "1.235e-4"],
  [2.5e12, "2.500e+12"],
  [-0.5, "-0.5"],
  [Infinity, "Infinity"],
])("number %d reads %s", (value, text) => expect(number(value)).toBe(text));

describe("a share", () => {
  test("is whole only where it is", () => {
    expect(percent(1)).toBe("100 %");
    expect(percent(0.99999)).toBe("99.9 %");
    expect(percent(1.02)).toBe("102 %");
  });
  test("keeps digits where it is small", () => {
    expect(percent(0.36318)).toBe("36.3 %");
    expect(percent(0.00071)).toBe("0.07 %");
    expect(percent(0)).toBe("0 %");
  });
});

test("units fit", () => {
  expect(rate(49684619116.9)).toBe("49.68 GB/s");
  expect(rate(0)).toBe("0 B/s");
  expect(bytes(1048576)).toBe("1 MiB");
  expect(bytes(100)).toBe("100 B");
  expect(time(0.01)).toBe("10 ns");
  expect(time(2653)).toBe("2.653 ms");
  expect(time(1e-9)).toBe("0.001 ps");
});

test("a key says its unit", () => {
  expect(byKey("bandwidth_per_node_MBps", 18044.66)).toBe("18.04 GB/s");
  expect(byKey("cost_per_node_USD_low", 2045)).toBe("2,045 USD");
  expect(byKey("cost_per_MBps_USD", 0.5)).toBe("0.5 USD");
  expect(byKey("size_B", 65536)).toBe("64 KiB");
  expect(byKey("efficiency", 0.5)).toBe("50 %");
  expect(byKey("injection_share", 0.5)).toBe("50 %");
  expect(byKey("hot_link_load", 511)).toBe("511");
  expect(byKey("n", 8064)).toBe("8,064");
  expect(byKey("latency_us", null)).toBe("–");
  expect(words("bound_bandwidth_per_node_MBps")).toBe("bound bandwidth per node");
});

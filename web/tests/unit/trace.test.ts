import { describe, expect, test } from "vitest";
import { NotARun, read } from "../../src/lib/trace";

const event = (tid: number, ts: number, dur: number, name: string): object => ({ ph: "X", pid: 0, tid, ts, dur, name, args: { peer: 1 } });
const named = (tid: number, name: string): object => ({ ph: "M", pid: 0, tid, name: "thread_name", args: { name } });

describe("a trace", () => {
  const text = JSON.stringify({ traceEvents: [named(10, "rank 10"), named(2, "rank 2"), event(10, 5, 2, "wait"), event(2, 4, 1, "copy"), event(2, 1, 2, "copy")] });
  const run = read("t.json", text);

  test("becomes lanes in order, pieces in time, kinds by their sum", () => {
    if (run.kind !== "trace") throw new Error(run.kind);
    const [line] = run.lines;
    expect(line?.lanes.map(({ name }) => name)).toEqual(["rank 2", "rank 10"]);
    expect(line?.lanes[0]?.pieces.map(({ from }) => from)).toEqual([1, 4]);
    expect([line?.from, line?.to]).toEqual([1, 7]);
    expect(line?.kinds).toEqual([{ name: "copy", sum: 3, pieces: 2 }, { name: "wait", sum: 2, pieces: 1 }]);
  });

  test("may be a bare list of events", () => {
    expect(read("t.json", JSON.stringify([event(0, 0, 1, "a")])).kind).toBe("trace");
  });
});

test("records stay as they are", () => {
  expect(read("r.json", '{"records": [{"a": 1}]}')).toEqual({ kind: "records", records: [{ a: 1 }] });
});

test.each([
  ['{"records": [1,', /^r\.json(:1:\d+)?: not JSON/],
  ['{"rows": []}', /^r\.json: neither "records" nor "traceEvents" \(allowed: /],
  ['{"records": [{}, 7]}', /^r\.json: record 2: /],
  ["[]", /^r\.json: no event has a duration/],
  ["null", /^r\.json: a lone value/],
  ['[{"ph": "X", "ts": "soon"}]', /^r\.json: event 1: /],
])("what is no run is refused by its place: %s", (text, message) => {
  expect(() => read("r.json", text)).toThrow(NotARun);
  expect(() => read("r.json", text)).toThrow(message);
});

/** Runs: Chrome traces of `simulate` and `run`, and records, as rows of a time line. */
import type { Row, Value } from "../engine";
import { text as plain } from "./format";

export interface Piece {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly args: Readonly<Record<string, Value>>;
}

/** One rank or one link. */
export interface Lane {
  readonly name: string;
  readonly pieces: readonly Piece[];
}

export interface Timeline {
  readonly title: string;
  readonly lanes: readonly Lane[];
  readonly from: number;
  readonly to: number;
  /** What happened, the longest in sum first. */
  readonly kinds: readonly { readonly name: string; readonly sum: number; readonly pieces: number }[];
}

export type Run = { readonly kind: "trace"; readonly lines: readonly Timeline[] } | { readonly kind: "records"; readonly records: readonly Row[] };

/** A text that is no run: the mistake, its place, and the allowed values. */
export class NotARun extends Error {
  override readonly name = "NotARun";
}

/** Reads what was dropped. Errors begin with the file's name and place. */
export function read(name: string, text: string): Run {
  const whole = json(name, text);
  const events = Array.isArray(whole) ? whole : whole["traceEvents"];
  if (Array.isArray(events)) {
    return { kind: "trace", lines: timelines(name, events) };
  }
  const records = (whole as Record<string, unknown>)["records"];
  if (!Array.isArray(records)) {
    throw new NotARun(`${name}: neither "records" nor "traceEvents" (allowed: what --json or --trace write)`);
  }
  records.forEach((record: unknown, index) => {
    if (typeof record !== "object" || record === null || Array.isArray(record)) {
      throw new NotARun(`${name}: record ${index + 1}: not an object of keys and values`);
    }
  });
  return { kind: "records", records: records as Row[] };
}

function json(name: string, text: string): Record<string, unknown> | unknown[] {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (error) {
    throw new NotARun(`${name}${place(text, String(error))}: not JSON: ${(error as Error).message}`);
  }
  if (typeof whole !== "object" || whole === null) {
    throw new NotARun(`${name}: a lone value (allowed: what --json or --trace write)`);
  }
  return whole as Record<string, unknown> | unknown[];
}

/** `:line:column` of an error that names a position. */
function place(text: string, error: string): string {
  const position = /position (\d+)/.exec(error)?.[1];
  if (position === undefined) {
    return "";
  }
  const before = text.slice(0, Number(position)).split("\n");
  return `:${before.length}:${(before[before.length - 1]?.length ?? 0) + 1}`;
}

interface Event {
  readonly name?: unknown;
  readonly ph?: unknown;
  readonly ts?: unknown;
  readonly dur?: unknown;
  readonly pid?: Value;
  readonly tid?: Value;
  readonly args?: Readonly<Record<string, Value>>;
}

/** One time line for each process: a trace may hold several sizes, one after another. */
function timelines(name: string, events: readonly unknown[]): Timeline[] {
  const titles = new Map<string, string>();
  const names = new Map<string, string>();
  const processes = new Map<string, Map<string, Piece[]>>();
  events.forEach((given, index) => {
    const event = (typeof given === "object" && given !== null ? given : {}) as Event;
    const process = plain(event.pid ?? 0);
    const thread = plain(event.tid ?? 0);
    if (event.ph === "M") {
      const said = plain(event.args?.["name"]);
      if (event.name === "process_name") titles.set(process, said);
      if (event.name === "thread_name") names.set(`${process} ${thread}`, said);
    } else if (event.ph === "X") {
      const lanes = processes.get(process) ?? new Map<string, Piece[]>();
      processes.set(process, lanes);
      lanes.set(thread, push(lanes.get(thread), piece(name, index, event)));
    }
  });
  if (processes.size === 0) {
    throw new NotARun(`${name}: no event has a duration ("ph": "X")`);
  }
  return [...processes].map(([process, lanes]) => timeline(titles.get(process) ?? name, process, lanes, names));
}

function push(pieces: Piece[] | undefined, one: Piece): Piece[] {
  const all = pieces ?? [];
  all.push(one);
  return all;
}

function piece(name: string, index: number, event: Event): Piece {
  const from = Number(event.ts);
  const length = Number(event.dur ?? 0);
  if (typeof event.ts !== "number" || !Number.isFinite(from) || !Number.isFinite(length) || length < 0) {
    throw new NotARun(`${name}: event ${index + 1}: "ts" and "dur" must be numbers of microseconds`);
  }
  return { name: typeof event.name === "string" ? event.name : "?", from, to: from + length, args: event.args ?? {} };
}

function timeline(title: string, process: string, lanes: ReadonlyMap<string, Piece[]>, names: ReadonlyMap<string, string>): Timeline {
  const sums = new Map<string, { sum: number; pieces: number }>();
  let from = Infinity;
  let to = -Infinity;
  for (const pieces of lanes.values()) {
    pieces.sort((one, other) => one.from - other.from);
    for (const one of pieces) {
      from = Math.min(from, one.from);
      to = Math.max(to, one.to);
      const sum = sums.get(one.name) ?? { sum: 0, pieces: 0 };
      sums.set(one.name, { sum: sum.sum + one.to - one.from, pieces: sum.pieces + 1 });
    }
  }
  const kinds = [...sums].map(([name, sum]) => ({ name, ...sum })).sort((one, other) => other.sum - one.sum);
  const ordered = [...lanes].sort(([one], [other]) => Number(one) - Number(other));
  return { title, from, to, kinds, lanes: ordered.map(([thread, pieces]) => ({ name: names.get(`${process} ${thread}`) ?? thread, pieces })) };
}

/** From the state to questions. Nothing is computed here: hosts of a job become a matrix, and that is a question, too. */
import type { Analyze, Compare, Files, Pattern, Question } from "../engine";
import type { State } from "./state";

/** The file with the messages between the hosts of a job. */
export const JOB = "job.csv";

/** A mistake of the person at the page, shown next to the field. */
export class Mistake extends Error {
  override readonly name = "Mistake";
}

/** The fabric shown, with its oversubscription, as questions name it. */
export function shown(state: State): string {
  return state.oversubscription === "" ? state.fabric : `${state.fabric}:oversubscription=${state.oversubscription}`;
}

/** The fabrics to compare: the one shown is the first, unless it is a dumped network, which has one size only. */
export function compared(state: State, files: Files): readonly string[] {
  const own = shown(state);
  const dumped = isOwn(state.fabric, files) && !/\.toml(:|$)/.test(state.fabric);
  return dumped || state.fabrics.includes(own) ? state.fabrics : [own, ...state.fabrics];
}

/** What a question about the fabric shown begins with. */
export function pattern(state: State, files: Files): Pattern {
  const own = isOwn(state.fabric, files);
  const job = state.job.trim() === "" ? undefined : members(state.job, state.nodes);
  const given = wanted(state, files);
  const texts = job ? { ...given, [JOB]: matrix(job, state.nodes) } : given;
  return {
    fabric: shown(state),
    ...(own && !/\.toml(:|$)/.test(state.fabric) ? {} : { nodes: state.nodes }),
    traffic: job ? `matrix:${JOB}` : state.traffic,
    size: state.size,
    capacities: state.capacities === "theoretical" ? "theoretical" : "measured",
    ...(state.paths === "" ? {} : { paths: state.paths }),
    ...(state.routes === "" ? {} : { routes: state.routes }),
    ...(state.fail.length === 0 ? {} : { fail: state.fail.map(bare) }),
    ...(Object.keys(texts).length === 0 ? {} : { files: texts }),
  };
}

/** The files that a fabric's name may spell: `cables.txt+tables.txt`, `mine.toml:oversubscription=2`. */
function words(fabric: string): string[] {
  return fabric.split("+").flatMap((word) => [word, word.split(":")[0] ?? word]);
}

/** Whether a fabric is a file that was given to the page. */
export function isOwn(fabric: string, files: Files): boolean {
  return words(fabric).some((word) => word in files);
}

/** A part as questions and the command's `--fail` name it: the page says what kind of part it is, too. */
function bare(part: string): string {
  return part.replace(/^(cable|switch) /, "");
}

/** Only files that the question names travel to the worker. */
function wanted(state: State, files: Files): Files {
  const names = [...words(state.fabric), ...words(state.routes), state.traffic.replace(/^matrix:/, "")];
  return Object.fromEntries(Object.entries(files).filter(([name]) => names.includes(name)));
}

/** The bandwidth, its share of a host's injection and the hot link of the fabric shown. */
export function analyze(state: State, files: Files): Analyze {
  return { verb: "analyze", ...pattern(state, files), method: "load" };
}

/** Several fabrics at several sizes. */
export function compare(state: State, files: Files): Compare {
  const fabrics = compared(state, files);
  if (fabrics.length === 0) {
    throw new Mistake("no fabric to compare: add one");
  }
  const named = [...fabrics.flatMap(words), state.prices];
  const texts = Object.fromEntries(Object.entries(files).filter(([name]) => named.includes(name)));
  return {
    verb: "compare",
    fabrics,
    nodes: state.counts,
    traffic: state.traffic,
    size: state.size,
    capacities: state.capacities === "theoretical" ? "theoretical" : "measured",
    ...(state.paths === "" ? {} : { paths: state.paths }),
    ...(state.prices === "" ? {} : { prices: state.prices }),
    ...(Object.keys(texts).length === 0 ? {} : { files: texts }),
  };
}

/** The host numbers of `0-31,64`. */
export function members(text: string, nodes: number): number[] {
  const found = new Set<number>();
  for (const part of text.split(",").map((word) => word.trim())) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    const first = Number(range?.[1]);
    const last = Number(range?.[2] ?? range?.[1]);
    if (!range || last < first || last >= nodes) {
      throw new Mistake(`job: "${part}" (allowed: numbers and ranges from 0 to ${nodes - 1}, such as 0-31,64-95)`);
    }
    for (let host = first; host <= last; host++) {
      found.add(host);
    }
  }
  if (found.size < 2) {
    throw new Mistake("job: one host has nobody to send to; name two or more");
  }
  return [...found].sort((one, other) => one - other);
}

/** Every host of the job sends to every other, and no other host sends: one row a sender. */
function matrix(job: readonly number[], nodes: number): string {
  if (nodes > 4096) {
    throw new Mistake("job: a matrix of more than 4,096 hosts is too large for a page");
  }
  const inside = new Set(job);
  const idle = new Array<number>(nodes).fill(0).join(",");
  const rows: string[] = [];
  for (let from = 0; from < nodes; from++) {
    rows.push(inside.has(from) ? Array.from({ length: nodes }, (_, to) => (to !== from && inside.has(to) ? 1 : 0)).join(",") : idle);
  }
  return `${rows.join("\n")}\n`;
}

/** The command line that gives the same numbers. Options have the arguments' names. */
export function command(question: Question): string {
  const words: string[] = ["hotlink", question.verb];
  for (const [key, value] of Object.entries(question) as [string, string | number | boolean | readonly (string | number)[] | undefined][]) {
    const option = `--${key.replaceAll("_", "-")}`;
    if (key === "verb" || key === "files" || value === undefined || value === false) continue;
    if (key === POSITIONAL[question.verb]) words.splice(2, 0, ...[value].flat().map(String));
    else if (key === "fail") [value].flat().forEach((part) => words.push(option, String(part)));
    else if (value === true) words.push(option);
    else words.push(option, String(value));
  }
  return [...words, "--json"].map(quoted).join(" ");
}

/** The argument that is no option, by verb. */
const POSITIONAL: Readonly<Partial<Record<Question["verb"], string>>> = { analyze: "fabric", compare: "fabrics", simulate: "benchmark" };

function quoted(word: string): string {
  return /^[\w.,:/=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Two doors, one answer. One is `window.hotlink.ask(question)` in the page, computed by the engine in its worker.
 * The other is the command line that the page shows for the same question. `HOTLINK_PAGE` is a page of the real engine,
 * `HOTLINK_COMMAND` the command.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import type { Document, Files, Question, Row } from "../../src/engine/types";
import { command } from "../../src/state/questions";
import { close, folder, GIVEN, open, page, visits, WEB } from "./visit";

const COMMAND = process.env["HOTLINK_COMMAND"];

visits();

/** Catalog fabrics of all kinds of topology, each with a part that may fail. */
const FABRICS: readonly (readonly [fabric: string, nodes: number, part: string])[] = [
  ["ai-pod-torus3d", 64, "d0 (0,0,0) -> (1,0,0)"],
  ["bluegene-l", 64, "d0 (0,0,0) -> (1,0,0)"],
  ["cm5", 64, "leaf 0 -> middle 0"],
  ["eth-400g-leaf-spine", 128, "leaf 0 -> spine 0 #1"],
  ["gige", 16, "switch"],
  ["gpu-rail", 64, "rail leaf 0"],
  ["hgx-h100-rail", 128, "rail leaf 1"],
  ["ib-ndr-dragonfly-plus", 128, "spine 1"],
  ["ib-ndr-fat-tree2", 128, "spine 1"],
  ["ib-ndr-fat-tree2:oversubscription=4", 128, "leaf 0 -> spine #1"],
  ["ib-ndr-fat-tree3", 256, "leaf 1 -> spine 2 #1"],
  ["ib-qdr-hyperx", 64, "switch 0 -> switch 1"],
  ["myrinet-clos64", 64, "spine 0"],
  ["myrinet-minimal", 44, "switch 0 -> switch 1"],
  ["qsnet", 64, "leaf 0 -> middle 0"],
  ["sci-ring", 8, "node 0 -> node 1"],
  ["sci-torus2d", 16, "d0 (0,0) -> (1,0)"],
  ["slingshot-dragonfly", 96, "router 0 of group 0 -> router 1 of group 0 #1"],
];

function ofFabrics(): Question[] {
  return FABRICS.flatMap(([fabric, nodes, part]): Question[] => [
    { verb: "analyze", fabric, nodes, method: "load", links: true, size: "4KiB" },
    { verb: "analyze", fabric, nodes: Math.min(nodes, 64), traffic: "permutation:random", samples: 5, seed: 7, capacities: "theoretical" },
    { verb: "analyze", fabric, nodes, method: "load", fail: [part] },
    { verb: "analyze", fabric, nodes, method: "load", traffic: "bisection", fail: ["no such part"] },
    { verb: "simulate", benchmark: "pingpong", fabric, nodes: 8, size: [8, "4KiB"] },
    { verb: "simulate", benchmark: "alltoall", fabric, nodes: 8, size: "4KiB" },
    { verb: "simulate", benchmark: "barrier", fabric, nodes: 9, samples: 3 },
  ]);
}

/** Of a site's network, whole and damaged. */
function ofASite(files: Files): Question[] {
  const dumps = { fabric: "ibnetdiscover.txt", routes: "opensm-lfts.dump", files };
  const failures = [[], ["spine0"], ["leaf1 port 5"], ["random:1:3", "leaf0 port 5"], ["spine9"]];
  return failures.flatMap((fail): Question[] => [
    { verb: "analyze", ...dumps, fail, method: "load", links: true },
    { verb: "analyze", ...dumps, fail, method: "load", traffic: "permutation:random", samples: 20 },
    { verb: "simulate", benchmark: "alltoall", ...dumps, fail, size: 4096 },
  ]);
}

/** Files of one's own, comparisons, engines side by side, what statistics and random numbers stand on, and mistakes. */
function ofSeveral(files: Files): Question[] {
  const today = ["ib-ndr-fat-tree2", "eth-400g-leaf-spine", "slingshot-dragonfly"];
  return [
    { verb: "analyze", fabric: "mine.toml", nodes: 96, method: "load", files },
    { verb: "analyze", fabric: "mine.toml", nodes: 8, method: "load", traffic: "matrix:job.csv", files },
    { verb: "analyze", fabric: "wrong.toml", nodes: 8, files },
    { verb: "analyze", fabric: "sci-torus2d", nodes: 16, method: "all", size: "16KiB" },
    { verb: "analyze", fabric: "ib-ndr-fat-tree2", nodes: 512, method: "load", hash_seeds: 4, paths: "flow" },
    { verb: "analyze", fabric: "ib-ndr-fat-tree2", nodes: 48, method: "load", sensitivity: true, why: true },
    { verb: "analyze", fabric: "myrinet-minimal", nodes: "16,44", sensitivity: true },
    { verb: "compare", fabrics: today, nodes: "64..512..x2" },
    { verb: "compare", fabrics: today, nodes: "64,256", prices: "prices.toml", files },
    { verb: "compare", fabrics: ["sci-ring", "sci-torus2d", "myrinet-clos64"], nodes: "2..64" },
    { verb: "compare", fabrics: ["gige", "sci-torus2d"], nodes: "8,16", across_eras: true, method: "load,packet", size: "16KiB" },
    { verb: "simulate", benchmark: "traffic", fabric: "ib-ndr-fat-tree2", nodes: 8, traffic: "uniform", load: [0.3], size: "16KiB" },
    { verb: "simulate", benchmark: "allreduce", fabric: "ib-ndr-fat-tree2", nodes: 16, size: "64KiB" },
    { verb: "simulate", benchmark: "bcast", fabric: "sci-torus2d", nodes: 16, size: 1024, samples: 5 },
    { verb: "analyze", fabric: "no-such-fabric", nodes: 4 },
    { verb: "compare", fabrics: today, nodes: "64", prices: "wrong.toml", files },
    { verb: "simulate", benchmark: "pingpong", fabric: "gige", nodes: 1, size: 8 },
  ];
}

function lent(): Record<string, string> {
  const root = resolve(WEB, "..");
  const text = (file: string): string => readFileSync(join(root, file), "utf8");
  const dump = (name: string): string => text(`crates/site/tests/data/tree2/${name}`);
  const fabric = text("catalog/fabrics/ib-ndr-fat-tree2.toml").replace('name = "ib-ndr-fat-tree2"', 'name = "mine"').replace("radix = 64", "radix = 32");
  return {
    "ibnetdiscover.txt": dump("ibnetdiscover.txt"),
    "opensm-lfts.dump": dump("opensm-lfts.dump"),
    "mine.toml": fabric,
    "wrong.toml": 'name = "wrong"\n[topology]\nkind = "fat-tree"\nradix = "many"\n',
    "prices.toml": text("catalog/prices/estimate-2025.toml").replace("2025-06-01", "2026-01-02"),
    "job.csv": Array.from({ length: 8 }, (_, from) => Array.from({ length: 8 }, (__, to) => Number(from !== to && from < 5)).join(",")).join("\n"),
  };
}

/** Only files that the question names, as the page sends them. */
function named(question: Question): Question {
  if (!question.files) return question;
  const said = JSON.stringify({ ...question, files: undefined });
  return { ...question, files: Object.fromEntries(Object.entries(question.files).filter(([name]) => said.includes(name))) };
}

type Told = { readonly records: readonly Row[] } | { readonly error: string };

/** What the command prints, in a folder with the files. */
function commanded(question: Question): Promise<Told> {
  const env = { ...process.env, PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"] ?? ""}` };
  return new Promise((done) => {
    execFile("sh", ["-c", command(question)], { cwd: folder, env, maxBuffer: 1 << 28 }, (failed, out, trouble) => {
      done(failed ? { error: trouble.trim() } : { records: (JSON.parse(out) as Document).records });
    });
  });
}

/** What the page says. */
function asked(questions: readonly Question[]): Promise<Told[]> {
  return page.evaluate(async (all) => {
    const told: ({ records: readonly object[] } | { error: string })[] = [];
    for (const question of all) {
      try {
        told.push({ records: (await window.hotlink.ask(question)).records });
      } catch (error) {
        told.push({ error: (error as Error).message });
      }
    }
    return told;
  }, questions as Question[]) as Promise<Told[]>;
}

/** What the weights of inputs add to a record. */
function isOfWeights(key: string, row: Row): boolean {
  const of = ["idle_latency_us", row["sensitivity_of"]].filter((value) => typeof value === "string");
  const ends = of.flatMap((value) => [`${value}_low`, `${value}_high`]);
  return ["sensitivity", "sensitivity_of", "idle_sensitivity", "not_varied", ...ends].includes(key);
}

/**
 * Records without the time that this run took; an error's first line without who says it. `--json` gives a first answer weights
 * that nobody asked for, where they take but a moment; the page computes them when one looks at them.
 */
function told(answer: Told | undefined, question: Question): Row[] | string {
  if (answer && "records" in answer) {
    const asks = "sensitivity" in question && question.sensitivity;
    const left = (key: string, row: Row): boolean => key === "wall_s" || (!asks && isOfWeights(key, row));
    return answer.records.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => !left(key, row))));
  }
  return answer?.error.replace(/^(hotlink|error): /, "").split("\n")[0] ?? "";
}

test.runIf(GIVEN !== undefined && COMMAND !== undefined)("both doors give the same records to the last digit", async () => {
  await open();
  const files = lent();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, "bin"));
  symlinkSync(resolve(COMMAND ?? ""), join(folder, "bin/hotlink"));
  const questions = [...ofFabrics(), ...ofASite(files), ...ofSeveral(files)].map(named);
  const inPage = asked(questions);
  const here: Told[] = [];
  for (const question of questions) here.push(await commanded(question));
  const there = await inPage;
  let [answers, errors] = [0, 0];
  const differ: { line: string; command: unknown; page: unknown }[] = [];
  for (const [index, question] of questions.entries()) {
    const [own, other] = [told(here[index], question), told(there[index], question)];
    if (typeof own === "string") errors += 1;
    else answers += own.length > 0 ? 1 : 0;
    if (!isDeepStrictEqual(own, other)) differ.push({ line: command(question), command: own, page: other });
  }
  expect(differ, `${differ.length} of ${questions.length}`).toEqual([]);
  expect(questions.length).toBeGreaterThan(150);
  expect(answers).toBeGreaterThan(100);
  expect(errors).toBeGreaterThan(20);
  await close();
});

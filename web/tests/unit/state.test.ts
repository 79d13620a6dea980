import { describe, expect, test } from "vitest";
import { analyze, command, compare, members, Mistake } from "../../src/state/questions";
import { read, START, started, write, type State } from "../../src/state/state";

describe("the hash", () => {
  test("the start needs none", () => {
    expect(write(START)).toBe("");
    expect(read("")).toEqual(START);
  });

  test("whatever is changed comes back", () => {
    const changed: State = {
      view: "pair",
      fabric: "a & b #1.toml",
      routes: "lfts.dump",
      nodes: 48,
      traffic: "permutation:shift:3",
      size: "64KiB",
      paths: "flow",
      capacities: "theoretical",
      oversubscription: "2",
      prices: "my=prices",
      job: "0-3,8",
      fail: ["cable leaf 0 -> spine 1 #2", "switch spine 0"],
      link: 7,
      from: 3,
      to: 5,
      fabrics: ["ib-qdr:oversubscription=2"],
      counts: "2..128",
    };
    // Each key differs from the start: the round trip of none is for free.
    for (const key of Object.keys(START) as (keyof State)[]) expect(changed[key]).not.toEqual(START[key]);
    expect(read(`#${write(changed)}`)).toEqual(changed);
  });

  test("an empty list is not the start's list", () => {
    const none = { ...START, fabrics: [] };
    expect(read(write(none)).fabrics).toEqual([]);
  });

  test("nonsense is as at the start", () => {
    expect(read("#nodes=many&view=hairball&link=1.5")).toEqual(START);
  });

  test("a link is read against the start that the command gave", () => {
    const start = started({ verb: "analyze", fabric: "ib-qdr:oversubscription=2", nodes: "16,64", fail: ["leaf 0", "leaf 1 -> spine 0"] });
    expect(start).toEqual({ ...START, fabric: "ib-qdr", oversubscription: "2", nodes: 16, fail: ["switch leaf 0", "cable leaf 1 -> spine 0"] });
    expect(read(write({ ...start, fail: [] }, start), start).fail).toEqual([]);
  });
});

describe("questions", () => {
  test("name what is chosen, and nothing else", () => {
    expect(analyze({ ...START, oversubscription: "3", fail: ["cable x"] }, { "other.toml": "" })).toEqual({
      verb: "analyze",
      method: "load",
      fabric: "ib-ndr-fat-tree2-2to1:oversubscription=3",
      nodes: 512,
      traffic: "all-to-all",
      size: "1MiB",
      capacities: "measured",
      fail: ["x"],
    });
  });

  test("a dumped network has its own hosts, and its file travels along", () => {
    const asked = analyze({ ...START, fabric: "net.txt", routes: "lfts" }, { "net.txt": "a", lfts: "b", more: "c" });
    expect(asked.nodes).toBeUndefined();
    expect(asked.files).toEqual({ "net.txt": "a", lfts: "b" });
  });

  test("files that a fabric's name spells travel along", () => {
    const files = { "net.txt": "a", lfts: "b", "mine.toml": "c" };
    expect(analyze({ ...START, fabric: "net.txt+lfts+reroute" }, files).files).toEqual({ "net.txt": "a", lfts: "b" });
    expect(analyze({ ...START, fabric: "net.txt+lfts+reroute" }, files).nodes).toBeUndefined();
    expect(analyze({ ...START, fabric: "mine.toml", oversubscription: "2" }, files).nodes).toBe(512);
  });

  test("a job is a matrix of its hosts", () => {
    const asked = analyze({ ...START, nodes: 4, job: "0,2-3" }, {});
    expect(asked.traffic).toBe("matrix:job.csv");
    expect(asked.files?.["job.csv"]).toBe("0,0,1,1\n0,0,0,0\n1,0,0,1\n1,0,1,0\n");
  });

  test.each(["5-2", "0-4", "a", "1,,2", "-1", "3"])("the job %s is refused, with what is allowed", (job) => {
    expect(() => members(job, 4)).toThrow(Mistake);
  });

  test("no fabrics are nothing to compare", () => {
    expect(() => compare({ ...START, fabric: "net.txt", fabrics: [] }, { "net.txt": "a" })).toThrow(/add one/);
  });

  test("the network shown is compared, too, once", () => {
    const own = { ...START, fabric: "hgx-h100-pod", fabrics: ["gige"] };
    expect(compare(own, {}).fabrics).toEqual(["hgx-h100-pod", "gige"]);
    expect(compare({ ...own, fabric: "gige" }, {}).fabrics).toEqual(["gige"]);
    const variant = { ...own, fabric: "mine.toml", oversubscription: "2" };
    expect(compare(variant, { "mine.toml": "a" })).toMatchObject({ fabrics: ["mine.toml:oversubscription=2", "gige"], files: { "mine.toml": "a" } });
    // A dumped network has one size.
    expect(compare({ ...own, fabric: "net.txt" }, { "net.txt": "a" }).fabrics).toEqual(["gige"]);
  });

  test("the command line gives the same question to a shell", () => {
    const line = command(analyze({ ...START, fail: ["cable it's -> b"] }, {}));
    expect(line).toBe(
      `hotlink analyze ib-ndr-fat-tree2-2to1 --nodes 512 --traffic all-to-all --size 1MiB --capacities measured --fail 'it'\\''s -> b' --method load --json`,
    );
  });

  test("a switch may be called switch", () => {
    expect(analyze({ ...START, fail: ["switch switch 0"] }, {}).fail).toEqual(["switch 0"]);
  });
});

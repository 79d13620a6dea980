/**
 * Pages that the command writes (`hotlink report`, the front of `hotlink design`) in Debian's Chromium. No mistake
 * is on the console; light, dark, paper, the keyboard alone and names for screen readers work; a picture is compared.
 * `HOTLINK_COMMAND` is the command.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { statSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { picture } from "./pictures";
import { folder, page, visit, visits, WEB } from "./visit";

const COMMAND = process.env["HOTLINK_COMMAND"];
const SITE = join(WEB, "../crates/site/tests/data/tree2");
const given = test.runIf(COMMAND !== undefined);

visits();

function hotlink(...words: string[]): string {
  return execFileSync(resolve(COMMAND ?? ""), words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

/** Two requirements that the results of the report meet, and one that they miss. */
const ACCEPTANCE = `title = "Acceptance of twelve hosts"

[[require]]
name = "short messages arrive in time"
where = { benchmark = "pingpong", size_B = 8 }
latency_us = { at_most = 2.0 }

[[require]]
name = "messages of 64 KiB fill half of a link"
where = { benchmark = "pingpong", size_B = "64KiB" }
bandwidth_MBps = { at_least = 25000 }

[[require]]
name = "all hosts at once get half of a link's rate"
where = { benchmark = "groups", group = "leaf0" }
all_to_all_share = { at_least = 0.5 }
`;

/** Records as those of `hotlink fabric --groups` for 4,096 hosts on 256 leaves: 65,536 cells, one of them the hottest. */
function large(): string {
  const share = (from: number, to: number): number => (from === 7 && to === 200 ? 0.125 : from === to ? 1 : 0.5);
  const shared = { fabric: "hall", benchmark: "groups", method: "load", nodes: 4096, hosts: 16, all_to_all_share: 0.5 };
  const records = Array.from({ length: 256 }, (_, from) => ({
    ...shared,
    group: `leaf${String(from)}`,
    shares: Array.from({ length: 256 }, (_, to) => share(from, to)),
  }));
  return JSON.stringify({ schema: "hotlink/2", command: ["hotlink", "fabric"], environment: {}, records });
}

beforeAll(() => {
  if (COMMAND === undefined) return;
  writeFileSync(join(folder, "large.json"), large());
  hotlink("report", "large.json", "--out", "large.html", "--title", "Hall of 4,096 hosts");
  const dumps = ["ibnetdiscover.txt", "opensm-lfts.dump"].map((name) => join(SITE, name));
  writeFileSync(join(folder, "groups.json"), hotlink("fabric", ...dumps, "--groups", "--json"));
  writeFileSync(join(folder, "failures.json"), hotlink("fabric", ...dumps, "--failures", "--json"));
  hotlink("report", "failures.json", "--out", "failures.html");
  hotlink("compare", "ib-ndr-fat-tree2", "slingshot-dragonfly", "--nodes", "64,128,256", "--out", "bought");
  hotlink("report", "bought/compare.json", "--out", "bought.html");
  writeFileSync(join(folder, "sizes.json"), hotlink("simulate", "pingpong", "--fabric", "ib-ndr-fat-tree2", "--nodes", "2", "--size", "8,64,512,4KiB,64KiB", "--json"));
  writeFileSync(join(folder, "acceptance.toml"), ACCEPTANCE);
  const report = ["report", "sizes.json", "groups.json", "--require", "acceptance.toml", "--out", "report.html"];
  expect(spawnSync(resolve(COMMAND), report, { cwd: folder }).status, "the status of a report that fails").toBe(1);
  hotlink("design", "--hosts", "512", "--technology", "infiniband,slingshot", "--oversubscription", "1,2", "--samples", "1", "--out", "design");
});

const PAGES = [
  ["report", "report.html"],
  ["design-front", "design/front.html"],
] as const;
const ALL = [...PAGES, ["large", "large.html"]] as const;

async function open(file: string, colorScheme: "light" | "dark" = "light"): Promise<string[]> {
  return visit(pathToFileURL(join(folder, file)).href, { colorScheme, viewport: { width: 1100, height: 1400 } });
}

given.each(PAGES)("%s: no mistakes, a name for everything, heads that sort by keys", async (name, file) => {
  const said = await open(file);
  await picture(name);
  const nameless = await page.evaluate(() => {
    const all = [...document.querySelectorAll<HTMLElement>("canvas, svg[role], button, a, summary, [tabindex='0'], [role=region]")];
    const called = (one: HTMLElement): string => one.getAttribute("aria-label") ?? one.textContent;
    return all.filter((one) => called(one).trim() === "").map((one) => one.outerHTML.slice(0, 120));
  });
  expect(nameless).toEqual([]);
  const reached = new Set<string>();
  for (let step = 0; step < 120; step++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.tagName ?? "");
    if (at === "BODY" || at === "") break;
    reached.add(at);
  }
  expect([...reached]).toEqual(expect.arrayContaining(["A", "BUTTON", "DIV", "SUMMARY"]));
  const head = page.locator("table.sortable th button").first();
  await head.focus();
  await page.keyboard.press("Enter");
  expect(await page.locator("th[aria-sort=ascending]").count()).toBe(1);
  await page.keyboard.press("Enter");
  expect(await page.locator("th[aria-sort=descending]").count()).toBe(1);
  expect(said).toEqual([]);
  await page.context().close();
});

given("report: arrow keys walk the matrix, and what they point at is said", async () => {
  const said = await open("report.html");
  const matrix = page.locator("figure.matrix");
  await matrix.locator("canvas").focus();
  await page.keyboard.press("ArrowRight");
  expect(await matrix.locator("p").textContent()).toMatch(/^from \S+ to \S+: \d/);
  // Names stand at the rows and columns that they are of.
  const [rows, columns] = [matrix.locator(".rows span"), matrix.locator(".columns span")];
  expect(await rows.count()).toBe(await columns.count());
  const [named, drawn] = [await rows.first().boundingBox(), await matrix.locator("canvas").boundingBox()];
  expect(Math.abs((named?.y ?? 0) - (drawn?.y ?? 99))).toBeLessThan(2);
  expect(await matrix.locator(".legend").textContent()).toContain("100 %");
  expect(said).toEqual([]);
  await page.context().close();
});

given.each(ALL)("%s: dark, at twice the size, and on paper", async (_, file) => {
  const said = await open(file, "dark");
  const paper = (): Promise<number> => page.evaluate(() => Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)?.[0]));
  expect(await paper()).toBeLessThan(60);
  await page.setViewportSize({ width: 550, height: 700 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide, "wider than the window").toBe(0);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  expect(await paper()).toBeGreaterThan(240);
  const printed = await page.pdf({ format: "A4" });
  expect(printed.subarray(0, 4).toString()).toBe("%PDF");
  expect(said).toEqual([]);
  await page.context().close();
});

given.each([["failures.html", 700], ["bought.html", 960]] as const)("%s: no column falls off the paper, and facts are in two columns", async (file, across) => {
  const said = await open(file);
  await page.emulateMedia({ media: "print" });
  // What is left between the margins of A4 and Letter: upright, and across for a wide table.
  await page.setViewportSize({ width: across, height: 900 });
  const over = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth).length);
  expect(over).toBe(0);
  await page.evaluate(() => { document.querySelectorAll("details").forEach((one) => { one.open = true; }); });
  expect(await page.evaluate(() => [...document.querySelectorAll("details > dl")].map((one) => getComputedStyle(one).display))).toEqual(["grid"]);
  // Chromium repeats no button on a table's later pages: on paper the heads are text, and they sort again afterwards.
  const heads = page.locator("table.sortable th");
  const [named, buttons] = [await heads.allTextContents(), page.locator("th button")];
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  expect([await buttons.count(), await heads.allTextContents()]).toEqual([0, named]);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  expect([await buttons.count(), await heads.allTextContents()]).toEqual([named.length, named]);
  expect(said).toEqual([]);
  await page.context().close();
});

given.each(["light", "dark"] as const)("4,096 hosts: the whole matrix is painted, its hottest cell in a colour of its own, %s", async (scheme) => {
  expect(statSync(join(folder, "large.html")).size, "bytes of the page").toBeLessThan(2_000_000);
  const said = await open("large.html", scheme);
  const canvas = page.locator("figure.matrix canvas");
  await canvas.focus();
  await page.keyboard.press("ArrowDown");
  expect(await page.locator("figure.matrix p").textContent()).toMatch(/^from leaf\d+ to leaf\d+: /);
  expect(await page.locator("table.sortable tbody tr").first().textContent()).toContain("leaf7leaf200");
  // Before the test itself reads pixels, which the browser remarks on.
  expect(said).toEqual([]);
  const cells = await canvas.evaluate((element: HTMLCanvasElement) => {
    const context = element.getContext("2d");
    const at = (from: number, to: number): string => {
      const [x, y] = [((to + 0.5) * element.width) / 256, ((from + 0.5) * element.height) / 256];
      return [...(context?.getImageData(Math.floor(x), Math.floor(y), 1, 1).data ?? [])].join(" ");
    };
    return { hot: at(7, 200), usual: at(8, 100), other: at(250, 3), own: at(9, 9) };
  });
  expect(cells.usual).toBe(cells.other);
  expect(new Set([cells.hot, cells.usual, cells.own]).size).toBe(3);
  await page.context().close();
});

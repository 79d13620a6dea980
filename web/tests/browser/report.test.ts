/**
 * Pages that the command writes (`hotlink report`, the front of `hotlink design`) in Debian's Chromium: no mistake on the console,
 * light, dark and paper, the keyboard alone, names for screen readers, and a picture. `HOTLINK_COMMAND` is the command.
 */
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { writeFileSync } from "node:fs";
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

beforeAll(() => {
  if (COMMAND === undefined) return;
  const dumps = ["ibnetdiscover.txt", "opensm-lfts.dump"].map((name) => join(SITE, name));
  writeFileSync(join(folder, "groups.json"), hotlink("fabric", ...dumps, "--groups", "--json"));
  writeFileSync(join(folder, "sizes.json"), hotlink("simulate", "pingpong", "--fabric", "ib-ndr-fat-tree2", "--nodes", "2", "--size", "8,64,512,4KiB,64KiB", "--json"));
  hotlink("report", "sizes.json", "groups.json", "--out", "report.html", "--title", "Acceptance of twelve hosts");
  hotlink("design", "--hosts", "512", "--technology", "infiniband,slingshot", "--oversubscription", "1,2", "--samples", "1", "--out", "design");
});

const PAGES = [
  ["report", "report.html"],
  ["design-front", "design/front.html"],
] as const;

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
  expect(said).toEqual([]);
  await page.context().close();
});

given.each(PAGES)("%s: dark, at twice the size, and on paper", async (_, file) => {
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

/**
 * The page in Debian's Chromium, as a person uses it (see `visit.ts`).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { close, drop, fill, folder, GIVEN, idle, open, page, said, shareShown, turn, VIEWS, visits } from "./visit";

visits();

const TRACE = JSON.stringify({
  traceEvents: [0, 1, 2].flatMap((tid) => [
    { ph: "M", pid: 0, tid, name: "thread_name", args: { name: `rank ${tid}` } },
    { ph: "X", pid: 0, tid, ts: 0, dur: 5 + tid, name: "compute" },
    { ph: "X", pid: 0, tid, ts: 5 + tid, dur: 3, name: "wait", args: { peer: 1 } },
  ]),
});

test.each(["light", "dark"] as const)("painted %s, each view says its name, and has ink on paper", async (colorScheme) => {
  await open("", { colorScheme });
  for (const view of VIEWS) {
    await turn(view);
    expect(await page.locator("#view h2").count(), view).toBe(1);
    expect(await page.locator("[role=alert]").count(), view).toBe(0);
    const picture = join(process.env["HOTLINK_PICTURES"] ?? folder, `${view}-${colorScheme}.png`);
    await page.screenshot({ path: picture });
    expect(readFileSync(picture).length, view).toBeGreaterThan(20_000);
  }
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red = 0] = (/\d+/.exec(paper) ?? []).map(Number);
  expect(red > 200).toBe(colorScheme === "light");
  await close();
});

test("the first screen says share, limit, hot link and who uses it", async () => {
  await open();
  expect(await shareShown()).toMatch(/^\d+(\.\d+)? %$/);
  await page.getByRole("heading", { name: "What limits" }).waitFor();
  const hot = await page.locator(".fact .name").textContent();
  expect(hot).toContain("→");
  await page.getByRole("table", { name: `Who uses ${hot ?? ""}` }).waitFor();
  expect(await page.getByRole("table", { name: "Hottest links" }).locator("tbody tr").count()).toBeGreaterThan(3);
  await close();
});

test("a cable that fails changes the numbers; repaired, they are as before", async () => {
  await open();
  const before = await shareShown();
  await page.getByRole("table", { name: "Hottest links" }).getByRole("button", { name: /^Fail cable/ }).first().click();
  await idle();
  expect(await shareShown()).not.toBe(before);
  expect(page.url()).toContain("fail=cable");
  await page.getByRole("button", { name: /^Repair cable/ }).click();
  await idle();
  expect(await shareShown()).toBe(before);
  expect(page.url()).not.toContain("fail=");
  await close();
});

test("a field says what is allowed, keeps what is wrong, and changes nothing", async () => {
  await open();
  const before = await shareShown();
  for (const [label, texts, allowed] of [
    ["Nodes", ["0", "", "-1", "2.5"], /one whole number from 2/],
    ["Message size", ["abc", ""], /such as 8, 64KiB/],
    ["Oversubscription", ["1:2", "x"], /a ratio from 1 on/],
    ["Job on hosts", ["5-2", "600"], /from 0 to 511/],
    ["Fabric", [""], /a fabric of the catalog/],
  ] as const) {
    const field = page.getByLabel(label, { exact: true });
    const described = page.locator(`[id="${(await field.getAttribute("aria-describedby")) ?? ""}"]`);
    expect(await described.textContent(), label).toMatch(allowed);
    const held = await field.inputValue();
    for (const text of texts) {
      await fill(label, text);
      expect(await field.inputValue(), label).toBe(text);
      expect(await field.getAttribute("aria-invalid"), label).toBe("true");
      expect(await described.textContent(), label).toMatch(text === "" ? /Nothing is entered/ : /is not allowed/);
      expect(await described.isVisible()).toBe(true);
      expect(await shareShown()).toBe(before);
    }
    await fill(label, held);
    expect(await field.getAttribute("aria-invalid"), label).toBe("false");
  }
  expect(page.url()).not.toMatch(/nodes=|size=|job=/);
  await close();
});

test("what is allowed moves nothing away under a click", async () => {
  await open("#view=traffic");
  const place = async (): Promise<unknown> => page.getByRole("button", { name: "Simulate" }).boundingBox();
  const before = await place();
  await page.getByLabel("Bytes of each", { exact: true }).focus();
  expect(await place()).toEqual(before);
  await close();
});

test("the network shown is compared, and ranges have a chart for each year's money", async () => {
  await open("#view=compare&fabric=sci-torus2d");
  expect(await page.locator(".chip").first().textContent()).toContain("sci-torus2d (shown)");
  const costs = page.locator("figcaption", { hasText: /^Cost of each node in prices of \d{4}/ });
  expect(await costs.count()).toBeGreaterThan(0);
  expect(await page.locator("figure", { has: costs.first() }).locator(".mark").count()).toBeGreaterThan(1);
  await close();
});

test("the address holds the state", async () => {
  await open();
  await page.getByLabel("Message size").fill("64KiB");
  await page.getByLabel("Message size").press("Enter");
  await page.getByLabel("Routing policy").selectOption("flow");
  await page.getByRole("tab", { name: "Pair" }).click();
  await page.getByLabel("To host").fill("77");
  await page.getByLabel("To host").press("Enter");
  await idle();
  const address = page.url();
  await page.reload();
  await idle();
  expect(page.url()).toBe(address);
  expect(await page.getByLabel("Message size").inputValue()).toBe("64KiB");
  expect(await page.getByLabel("Routing policy").inputValue()).toBe("flow");
  expect(await page.getByRole("heading", { level: 2 }).textContent()).toContain("77");
  await close();
});

test("a wrong file is an error by its place, and the numbers of before stay", async () => {
  await open();
  const before = await shareShown();
  await drop(["wrong.toml", "name = 7\n"]);
  expect(await page.getByRole("alert").textContent()).toContain("wrong.toml");
  expect(await shareShown()).toBe(before);
  await drop(["run.json", '{"records": [1,']);
  expect(await page.getByRole("alert").textContent()).toMatch(/run\.json(:1:\d+)?: not JSON/);
  await close();
});

test("a trace becomes a time line that keys walk", async () => {
  await open("#view=run");
  await drop(["trace.json", TRACE]);
  const line = page.getByRole("application", { name: /^Time line/ });
  await line.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  expect(await line.getAttribute("aria-label")).toMatch(/rank 1: (compute|wait), \d/);
  expect(await page.getByRole("table", { name: /Where time goes/ }).locator("tbody tr").count()).toBe(2);
  await close();
});

test("a number tells what it rests on, and the keyboard comes back to it", async () => {
  await open();
  await page.locator(".big .num").first().focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("table").waitFor();
  expect(await dialog.textContent()).toMatch(/published|estimated/);
  expect(await dialog.locator("pre").textContent()).toMatch(/^hotlink analyze /);
  await dialog.getByRole("button", { name: "Vary the uncertain inputs" }).click();
  await dialog.getByRole("heading", { name: /How the bound comes about/ }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  expect(await page.evaluate(() => document.activeElement?.className)).toBe("num");
  await close();
});

test("the keyboard alone reaches everything, and everything has a name", async () => {
  await open();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the view");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowRight");
  await idle();
  expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Link");
  await page.keyboard.press("ArrowLeft");
  await idle();
  const seen = new Set<string>();
  for (let step = 0; step < 90; step++) {
    await page.keyboard.press("Tab");
    const [tag, role, name] = await page.evaluate(() => {
      const at = document.activeElement as HTMLInputElement;
      const label = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
      return [at.tagName, at.getAttribute("role") ?? "", label.trim()] as const;
    });
    if (tag === "BODY") break;
    expect(name, `${tag} ${role}`).not.toBe("");
    seen.add(role === "" ? tag : role);
  }
  expect([...seen].sort()).toEqual(expect.arrayContaining(["BUTTON", "INPUT", "SELECT", "application"]));
  const matrix = page.getByRole("application", { name: /^Load from group/ });
  await matrix.focus();
  const before = await matrix.getAttribute("aria-label");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowUp");
  expect(await matrix.getAttribute("aria-label")).not.toBe(before);
  await close();
});

test("at twice the size, no view needs scrolling sideways", async () => {
  await open("", { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 });
  for (const view of VIEWS) {
    await turn(view);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide, view).toBe(0);
  }
  await close();
});

test("programs ask the engine in the page", async () => {
  await open();
  const document = await page.evaluate(() => window.hotlink.ask({ verb: "analyze", fabric: "ib-ndr-fat-tree2-2to1", nodes: 512, method: "load" }));
  expect(document.schema).toBe("hotlink/2");
  expect(document.records[0]?.["bandwidth_per_node_MBps"]).toBeTypeOf("number");
  await close();
});

test("nothing that the build did not put there runs", async () => {
  await open();
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    return "ran" in window;
  });
  expect(ran).toBe(false);
  expect(said.join()).toMatch(/Content Security Policy/);
  await page.context().close();
});

test.runIf(GIVEN === undefined)("what takes long says how far it is, and is cancelled", async () => {
  await open();
  const before = await shareShown();
  await page.getByLabel("Nodes", { exact: true }).fill("4096");
  await page.getByLabel("Nodes", { exact: true }).press("Enter");
  const status = page.getByRole("status");
  await status.getByRole("progressbar").waitFor();
  expect(await status.textContent()).toContain("1 of 3");
  await status.getByRole("button", { name: "Cancel" }).click();
  await idle();
  expect(await status.textContent()).toContain("Stopped");
  expect(await shareShown()).toBe(before);
  await close();
});

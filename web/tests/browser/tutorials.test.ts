/**
 * The tutorials' steps on the page, done as they say. They are those of the explorer, and the part of each role's tutorial
 * that uses the page (`docs/tutorials/`). Pictures are those of the documents.
 */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { difference, picture } from "./pictures";
import { close, drop, fill, folder, GIVEN, idle, open, page, shareShown, turn, visit, visits, WEB } from "./visit";

const COMMAND = process.env["HOTLINK_COMMAND"];
const SITE = join(WEB, "../crates/site/tests/data/tree2");

const QUOTATION = `name = "our-quotation"
title = "Quotation 4711"
currency = "USD"
date = "2026-05-04"
[item.ndr-switch]
title = "64-port 400 Gb/s InfiniBand switch"
price = { value = 56500, unit = "USD", source = "quotation 4711, line 3", status = "published" }
`;

visits();

function percent(text: string): number {
  return Number.parseFloat(text);
}

async function share(): Promise<number> {
  return percent(await shareShown());
}

/** The steps need the engine: recordings know one answer. */
const real = test.runIf(GIVEN !== undefined);
const withCommand = test.runIf(GIVEN !== undefined && COMMAND !== undefined);

real("explore: the first screen, another question, a failure, and where a number comes from", async () => {
  await open();
  const before = await share();
  await picture("explore-network");
  await fill("Traffic", "permutation:random");
  expect(await share()).toBeLessThan(before);
  await page.getByLabel("Routing policy").selectOption("flow");
  await idle();
  expect(page.url()).toContain("paths=flow");
  await page.getByLabel("Routing policy").selectOption("");
  await fill("Traffic", "all-to-all");
  await fill("Job on hosts", "0-31,64-95");
  expect(await page.getByRole("alert").count()).toBe(0);
  await fill("Job on hosts", "");
  await fill("Oversubscription", "4");
  expect(await share()).toBeLessThan(before);
  await fill("Oversubscription", "");
  expect(await share()).toBe(before);
  // A failure, of the hottest link's switch.
  await page.locator(".fact .name").click();
  await idle();
  await picture("explore-link");
  await page.getByRole("button", { name: /^Fail switch spine/ }).first().click();
  await idle();
  await turn("network");
  expect(await share()).toBeLessThan(before);
  expect(await page.getByRole("list").filter({ hasText: "switch spine" }).count()).toBe(1);
  await page.getByRole("button", { name: /^Repair switch/ }).click();
  await idle();
  expect(await share()).toBe(before);
  await page.locator(".big .num").first().click();
  await page.getByRole("dialog").getByRole("table").waitFor();
  await picture("explore-provenance");
  await page.keyboard.press("Escape");
  await turn("pair");
  await picture("explore-pair");
  await close();
});

withCommand("explore: a run, as a trace of the command", async () => {
  await open();
  const trace = join(folder, "run.json");
  const words = ["simulate", "allreduce", "--fabric", "ib-ndr-fat-tree2", "--nodes", "8", "--size", "64KiB", "--trace", trace];
  execFileSync(resolve(COMMAND ?? ""), words, { stdio: "ignore" });
  await drop(["run.json", readFileSync(trace, "utf8")]);
  expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Run");
  await page.getByRole("application", { name: /^Time line/ }).waitFor();
  expect(await page.getByRole("table", { name: /Where time goes/ }).locator("tbody tr").count()).toBeGreaterThan(1);
  await picture("explore-run");
  await close();
});

real("explore: dark, the first screen is the same in other colours", async () => {
  await open("", { colorScheme: "dark" });
  await picture("explore-dark");
  const light = readFileSync(join(WEB, "../docs/figures/explore-network.png"));
  expect(await difference(await page.screenshot(), light), "light and dark differ").toBeGreaterThan(0.5);
  await turn("pair");
  const dark = readFileSync(join(WEB, "../docs/figures/explore-dark.png"));
  expect(await difference(await page.screenshot(), dark), "two views differ").toBeGreaterThan(0.05);
  await close();
});

real("architect: fabrics beside each other, one more, and prices of one's own", async () => {
  await open();
  await turn("compare");
  const table = page.getByRole("table", { name: /^At 1,024 nodes/ });
  expect(await table.locator("tbody tr").count()).toBe(4);
  const latencies = await table.locator("tbody tr td:nth-of-type(4)").allTextContents();
  expect(latencies.every((text) => /^\d/.test(text)), latencies.join()).toBe(true);
  await picture("explore-compare");
  await page.getByLabel("Add", { exact: true }).fill("ib-ndr-fat-tree2:oversubscription=4");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await idle();
  expect(await table.locator("tbody tr").count()).toBe(5);
  const cost = async (): Promise<string> => (await table.getByRole("row", { name: /^ib-ndr-fat-tree2 / }).locator("td").nth(4).textContent()) ?? "";
  const listed = await cost();
  await drop(["quotation.toml", QUOTATION]);
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(await cost()).not.toBe(listed);
  await page.getByRole("table", { name: "Who leads from where on" }).waitFor();
  await close();
});

real("site engineer: dumps dropped, the hot cable, what fails, and a pair's route", async () => {
  await open();
  const text = (name: string): readonly [string, string] => [name, readFileSync(join(SITE, name), "utf8")];
  await drop(text("ibnetdiscover.txt"), text("opensm-lfts.dump"));
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(await page.locator(".fact .name").textContent()).toContain("leaf1 port 5 → spine0 port 3");
  const before = await share();
  expect(before).toBeCloseTo(34.4, 0);
  await picture("explore-site");
  await fill("Name of the part that fails", "leaf0 port 5");
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(page.url()).toContain("fail=cable");
  await page.getByRole("button", { name: /^Repair/ }).click();
  await idle();
  expect(await share()).toBe(before);
  await turn("pair");
  expect(await page.getByRole("list", { name: "Route 1" }).getByRole("listitem").count()).toBeGreaterThan(2);
  await close();
});

withCommand("site engineer: the page on this machine alone, for whoever has the token", async () => {
  for (const name of ["ibnetdiscover.txt", "opensm-lfts.dump"]) copyFileSync(join(SITE, name), join(folder, name));
  const words = ["explore", "--fabric", "ibnetdiscover.txt", "--routes", "opensm-lfts.dump", "--fail", "spine0", "--no-open"];
  const server = spawn(resolve(COMMAND ?? ""), words, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  try {
    const address = await new Promise<string>((done, failed) => {
      let told = "";
      server.stderr.on("data", (text: Buffer) => {
        told += text.toString();
        const found = /http:\/\/127\.0\.0\.1:\d+\/\?token=\w+/.exec(told);
        if (found) done(found[0]);
      });
      server.on("exit", () => { failed(new Error(told)); });
    });
    const said = await visit(address);
    await idle();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.getByRole("button", { name: "Repair switch spine0" }).count()).toBe(1);
    const damaged = await share();
    await page.getByRole("button", { name: "Repair switch spine0" }).click();
    await idle();
    expect(await share()).toBeCloseTo(34.4, 0);
    expect(await share()).not.toBe(damaged);
    expect(said).toEqual([]);
    expect((await fetch(address.replace(/token=\w/, "token=x"))).status).toBe(403);
    await page.context().close();
  } finally {
    server.kill();
  }
});

real("library developer: the latency of an idle network part by part", async () => {
  await open();
  await fill("Fabric", "ib-ndr-fat-tree2");
  await fill("Nodes", "64");
  await turn("pair");
  const parts = page.getByRole("table", { name: "Part by part" });
  const near = await parts.locator("tbody tr").count();
  expect(near).toBeGreaterThan(2);
  const latency = page.getByRole("region", { name: "Latency" }).locator(".num").first();
  const shown = async (): Promise<number> => {
    const text = (await latency.textContent()) ?? "";
    return Number.parseFloat(text) * (text.endsWith("ns") ? 1e-3 : 1);
  };
  const short = await shown();
  await turn("network");
  await fill("Nodes", "128");
  await turn("pair");
  expect(await shown()).toBeGreaterThan(short);
  await latency.click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await close();
});

real("AI network engineer: flows that share a cable, packets that do not, and a failed spine", async () => {
  await open();
  await fill("Fabric", "eth-400g-leaf-spine");
  await fill("Nodes", "256");
  await fill("Traffic", "permutation:shift:40");
  const hashed = await share();
  await page.getByLabel("Routing policy").selectOption("packet");
  await idle();
  const sprayed = await share();
  expect(sprayed).toBeGreaterThan(2 * hashed);
  await page.getByRole("form", { name: "Failures" }).getByLabel("Kind of part").selectOption("switch");
  await fill("Name of the part that fails", "spine 0");
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(await share()).toBeLessThan(sprayed);
  await close();
});

real("teacher: the resource that limits, how the bound comes about, and queues", async () => {
  await open();
  await fill("Fabric", "sci-torus2d");
  await fill("Nodes", "64");
  expect(await page.getByText("SCI link", { exact: true }).count()).toBeGreaterThan(0);
  await page.locator(".big .num").first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Vary the uncertain inputs" }).click();
  await dialog.getByRole("heading", { name: /How the bound comes about/ }).waitFor();
  await page.keyboard.press("Escape");
  await turn("traffic");
  await page.getByRole("table", { name: "Numbers of the curve", exact: true }).waitFor();
  await fill("Hosts", "4");
  await fill("Messages of each", "50");
  await fill("Bytes of each", "4KiB");
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#view figure").length === 3);
  await idle();
  expect(await page.getByRole("table", { name: "Numbers of the curves" }).locator("tbody tr").count()).toBe(6);
  await close();
});

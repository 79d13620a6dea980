/**
 * One visit to the page in Debian's Chromium, and what tests of it share. `HOTLINK_PAGE` names another page than the one
 * with recordings, `HOTLINK_PICTURES` a folder for pictures of what was seen.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { build } from "vite";

export const WEB = fileURLToPath(new URL("../..", import.meta.url));
export const GIVEN = process.env["HOTLINK_PAGE"];
const ADDRESS = pathToFileURL(GIVEN ?? join(WEB, "dist/fixture/explorer.html")).href;

export const VIEWS = ["network", "link", "pair", "traffic", "compare", "run"] as const;

export let browser: Browser;
/** A folder of the test file's own. */
export let folder: string;
export let page: Page;
/** What the console said, and what was asked of a network. */
export let said: string[];
let asked: string[];

/** Starts the browser for a file of tests, and ends it. */
export function visits(): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "explorer-"));
    if (GIVEN === undefined) {
      await build({ root: WEB, mode: "fixture", logLevel: "error" });
    }
    browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });
}

/** Opens any page; gives what its console will have said. */
export async function visit(address: string, options: BrowserContextOptions = {}): Promise<string[]> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  said = [];
  asked = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(address);
  return said;
}

/** Opens the explorer. */
export async function open(hash = "", options: BrowserContextOptions = {}): Promise<void> {
  await visit(`${ADDRESS}${hash}`, options);
  await idle();
}

/** Waits until nothing is under way. */
export async function idle(): Promise<void> {
  await page.waitForTimeout(200);
  await page.waitForFunction(() => document.querySelector("#view[aria-busy='false']") !== null && document.querySelector(".status progress") === null);
}

export async function close(): Promise<void> {
  const url = page.url();
  await page.context().close();
  expect(said, url).toEqual([]);
  // The page itself; blobs are its own worker, data its own pictures.
  expect(asked.filter((address) => !/^(file|blob|data):/.test(address))).toEqual([]);
}

export async function shareShown(): Promise<string> {
  return (await page.locator(".big .num").first().textContent()) ?? "";
}

/** Drops files on the page, as names and texts. */
export async function drop(...files: readonly (readonly [name: string, text: string])[]): Promise<void> {
  const dropped = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer();
    all.forEach(([name, text]) => transfer.items.add(new File([text], name)));
    return transfer;
  }, files);
  await page.dispatchEvent("#view", "drop", { dataTransfer: dropped });
  await page.waitForTimeout(300);
  await idle();
}

/** Fills a field of the question, as a person does: the text, then Enter. */
export async function fill(label: string, text: string): Promise<void> {
  const field = page.getByLabel(label, { exact: true });
  await field.fill(text);
  await field.press("Enter");
  await idle();
}

/** Another view, by its tab. */
export async function turn(view: (typeof VIEWS)[number]): Promise<void> {
  await page.locator(`#tab-${view}`).click();
  await page.waitForFunction((named) => document.querySelector("[role=tab][aria-selected=true]")?.id === `tab-${named}`, view);
  await idle();
}

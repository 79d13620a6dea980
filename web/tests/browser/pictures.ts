/**
 * Pictures of the page against those of the documents (`docs/figures/`). They are compared by the mean colour of
 * blocks of ten by ten pixels. Another machine's letters differ by less, a missing table, curve or matrix by more.
 * `HOTLINK_GOLDEN=write` writes them anew (`make docs-pictures`).
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { browser, page, WEB } from "./visit";

const FIGURES = join(WEB, "../docs/figures");
const WRITES = process.env["HOTLINK_GOLDEN"] === "write";
/** A block differs where a colour differs by more, of 255. */
const SHADES = 40;
/** The share of blocks that may differ. */
const MOST = 0.03;

/** Holds what the page shows now to the picture of this name. */
export async function picture(name: string): Promise<void> {
  // Where nothing is pointed at and nothing blinks.
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const now = await page.screenshot({ animations: "disabled", caret: "hide" });
  const file = join(FIGURES, `${name}.png`);
  if (WRITES || !existsSync(file)) {
    expect(WRITES, `${file} is missing: HOTLINK_GOLDEN=write makes it`).toBe(true);
    writeFileSync(file, now);
    return;
  }
  expect(await difference(now, readFileSync(file)), `share of ${name} that differs`).toBeLessThanOrEqual(MOST);
}

/** The share of blocks in which two pictures differ; 1 where they are not of one size. */
export async function difference(one: Buffer, other: Buffer): Promise<number> {
  const context = await browser.newContext();
  const blank = await context.newPage();
  const urls = [one, other].map((bytes) => `data:image/png;base64,${bytes.toString("base64")}`);
  const share = await blank.evaluate(
    async ([addresses, shades]) => {
      const blocks = await Promise.all(
        addresses.map(async (address) => {
          const image = new Image();
          image.src = address;
          await image.decode();
          const { width, height } = image;
          const canvas = document.createElement("canvas");
          Object.assign(canvas, { width, height });
          const context2d = canvas.getContext("2d");
          context2d?.drawImage(image, 0, 0);
          const pixels = context2d?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray();
          const across = Math.floor(width / 10);
          const sums = new Float64Array(across * Math.floor(height / 10) * 3);
          for (let y = 0; y < Math.floor(height / 10) * 10; y++) {
            for (let x = 0; x < across * 10; x++) {
              for (let colour = 0; colour < 3; colour++) {
                const at = (Math.floor(y / 10) * across + Math.floor(x / 10)) * 3 + colour;
                sums[at] = (sums[at] ?? 0) + (pixels[(y * width + x) * 4 + colour] ?? 0) / 100;
              }
            }
          }
          return { width, height, sums };
        }),
      );
      const [first, second] = blocks;
      if (!first || !second || first.width !== second.width || first.height !== second.height) return 1;
      let differ = 0;
      for (let at = 0; at < first.sums.length; at += 3) {
        const far = [0, 1, 2].some((colour) => Math.abs((first.sums[at + colour] ?? 0) - (second.sums[at + colour] ?? 0)) > shades);
        differ += far ? 1 : 0;
      }
      return (3 * differ) / first.sums.length;
    },
    [urls, SHADES] as const,
  );
  await context.close();
  return share;
}

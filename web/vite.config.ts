import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/**
 * Makes one file of the page. Script and style move into it, and a content security policy names their hashes, so
 * that nothing else ever runs. `hotlink explore` fills the two placeholders, which are data and need no hash.
 */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") {
        return;
      }
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          script += file.code;
        } else if (name.endsWith(".css")) {
          style += text(file.source);
        } else {
          continue;
        }
        // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- Rollup's way to leave a file out
        delete bundle[name];
      }
      // A text of the script must not end it, nor open a comment of the page.
      script = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const policy = [
        "default-src 'none'",
        `script-src ${hash(script)} 'wasm-unsafe-eval'`,
        `style-src ${hash(style)}`,
        "worker-src blob:",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      page.source = text(page.source)
        .replace(/\s*<script type="module"[^>]*src=.*?<\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace(
          "<title>",
          () => `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n    <style>${style}</style>\n    <title>`,
        )
        .replace("</body>", () => `  <script type="module">${script}</script>\n  </body>`);
      page.fileName = "explorer.html";
    },
  };
}

function text(source: string | Uint8Array): string {
  return typeof source === "string" ? source : new TextDecoder().decode(source);
}

function hash(source: string): string {
  return `'sha256-${createHash("sha256").update(source).digest("base64")}'`;
}

/** The tests' page: the same page on an engine that answers from recordings. */
const fixture = { find: /^(\.\.?\/)+engine$/, replacement: fileURLToPath(new URL("tests/browser/fixture/engine.ts", import.meta.url)) };

export default defineConfig(({ mode }) => ({
  plugins: [svelte(), oneFile()],
  resolve: { alias: mode === "fixture" ? [fixture] : [] },
  build: {
    target: "es2022",
    outDir: mode === "fixture" ? "dist/fixture" : "dist",
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 1000,
  },
}));

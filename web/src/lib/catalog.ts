/** Names in the catalog, read from its files when the page is built. */

const FABRICS = import.meta.glob<string>("../../../catalog/fabrics/*.toml", { query: "?raw", import: "default", eager: true });
const PRICES = import.meta.glob<string>("../../../catalog/prices/*.toml", { query: "?raw", import: "default", eager: true });

export interface Entry {
  readonly name: string;
  readonly title: string;
  /** A fabric of leaves and spines: its oversubscription can be changed. */
  readonly tree: boolean;
}

function value(text: string, key: string): string | undefined {
  return new RegExp(`^${key} = "(.*)"`, "m").exec(text)?.[1];
}

/** Fabrics with a topology, by name. The other files hold fabrics without links. */
export const fabrics: readonly Entry[] = Object.values(FABRICS)
  .filter((text) => text.includes("[topology]"))
  .map((text) => ({
    name: value(text, "name") ?? "",
    title: value(text, "title") ?? "",
    tree: /^kind = "(fat-tree|clos)"/m.test(text),
  }))
  .filter(({ name }) => name !== "")
  .sort((one, other) => (one.name < other.name ? -1 : 1));

export const prices: readonly string[] = Object.keys(PRICES).map(stem).sort();

function stem(path: string): string {
  return path.replace(/^.*\//, "").replace(/\.toml$/, "");
}

/** Suggestions; the engine knows which are allowed, and says so. */
export const traffics: readonly string[] = [
  "all-to-all",
  "uniform",
  "permutation:random",
  "permutation:ring",
  "permutation:shift:1",
  "permutation:transpose",
  "permutation:bit-reversal",
  "bisection",
  "nearest-neighbour",
  "hot-spot",
  "same-switch:80",
  "incast:8",
];

export const sizes: readonly string[] = ["64", "512", "4KiB", "64KiB", "1MiB", "16MiB"];

export const policies: readonly { readonly value: string; readonly text: string }[] = [
  { value: "", text: "the technology's own" },
  { value: "packet", text: "packet: paths in turn" },
  { value: "flow", text: "flow: by a hash (ECMP)" },
  { value: "destination", text: "destination: by tables" },
  { value: "adaptive", text: "adaptive: least occupied" },
];

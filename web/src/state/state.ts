/** What the page asks, as one value. It lives in the URL's hash, so that a link or a reload gives the same page. */
import type { Analyze } from "../engine";

export const VIEWS = ["network", "link", "pair", "traffic", "compare", "run"] as const;
export type ViewName = (typeof VIEWS)[number];

export interface State {
  readonly view: ViewName;
  /** A name of the catalog, or of a file that was dropped. */
  readonly fabric: string;
  /** Forwarding tables of a dumped network. */
  readonly routes: string;
  readonly nodes: number;
  readonly traffic: string;
  readonly size: string;
  readonly paths: string;
  readonly capacities: string;
  /** Node ports over up ports of a leaf; empty: as the fabric says. */
  readonly oversubscription: string;
  readonly prices: string;
  /** Hosts of a job, such as `0-31,64-95`; empty: all. */
  readonly job: string;
  /** `cable NAME`, `switch NAME`. */
  readonly fail: readonly string[];
  readonly link: number;
  readonly from: number;
  readonly to: number;
  readonly fabrics: readonly string[];
  readonly counts: string;
}

export const START: State = {
  view: "network",
  fabric: "ib-ndr-fat-tree2-2to1",
  routes: "",
  nodes: 512,
  traffic: "all-to-all",
  size: "1MiB",
  paths: "",
  capacities: "measured",
  oversubscription: "",
  prices: "",
  job: "",
  fail: [],
  link: -1,
  from: 0,
  to: -1,
  fabrics: ["ib-ndr-fat-tree2", "ib-ndr-fat-tree2-2to1", "eth-400g-leaf-spine", "slingshot-dragonfly"],
  counts: "64..1024..+64",
};

/** The state as a hash: initial values are left out, so that links are short. */
export function write(state: State, start: State = START): string {
  const words = new URLSearchParams();
  for (const key of Object.keys(START) as (keyof State)[]) {
    const value = state[key];
    if (typeof value === "object") {
      if (value.join("\n") !== (start[key] as readonly string[]).join("\n")) {
        // One entry each; an empty list is said, too.
        (value.length > 0 ? value : [""]).forEach((one) => words.append(key, one));
      }
    } else if (value !== start[key]) {
      words.set(key, String(value));
    }
  }
  return words.toString();
}

/** The state of a hash. Missing or wrong parts are as at the start. */
export function read(hash: string, start: State = START): State {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const text = (key: keyof State): string => words.get(key) ?? (start[key] as string);
  const list = (key: "fail" | "fabrics"): readonly string[] =>
    words.has(key) ? words.getAll(key).filter((one) => one !== "") : start[key];
  const whole = (key: "nodes" | "link" | "from" | "to"): number => {
    const value = Number(words.get(key) ?? "");
    return words.get(key) && Number.isInteger(value) ? value : start[key];
  };
  const view = words.get("view") as ViewName | null;
  return {
    view: view && VIEWS.includes(view) ? view : start.view,
    fabric: text("fabric"),
    routes: text("routes"),
    nodes: whole("nodes"),
    traffic: text("traffic"),
    size: text("size"),
    paths: text("paths"),
    capacities: text("capacities"),
    oversubscription: text("oversubscription"),
    prices: text("prices"),
    job: text("job"),
    fail: list("fail"),
    link: whole("link"),
    from: whole("from"),
    to: whole("to"),
    fabrics: list("fabrics"),
    counts: text("counts"),
  };
}

/** The start that the command gave: its question, where it says something. */
export function started(question: Partial<Analyze> | undefined): State {
  if (!question) {
    return START;
  }
  const variant = /^(.*):oversubscription=([^,]+)$/.exec(question.fabric ?? "");
  const asked: Record<string, unknown> = {
    fabric: variant?.[1] ?? question.fabric,
    oversubscription: variant?.[2],
    routes: question.routes,
    nodes: one(question.nodes),
    traffic: question.traffic,
    size: question.size === undefined ? undefined : String(question.size),
    paths: question.paths,
    capacities: question.capacities,
    fail: question.fail?.map((part) => `${/ -> | port /.test(part) ? "cable" : "switch"} ${part}`),
  };
  const said = Object.entries(asked).filter(([, value]) => value !== undefined && value !== null);
  return { ...START, ...(Object.fromEntries(said) as Partial<State>) };
}

/** The first number of nodes of a question: the page shows one. */
function one(nodes: Analyze["nodes"]): number | undefined {
  const first = typeof nodes === "object" ? nodes[0] : Number.parseInt(String(nodes ?? ""), 10);
  return first !== undefined && Number.isInteger(first) ? first : undefined;
}

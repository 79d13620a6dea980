/** What the page asks, and what comes back: the command's own questions and records, and what a view draws. */

/** A value of a record: keys carry their units, as `hotlink schema` lists them. */
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

/** One result row. */
export type Row = Record<string, Value>;

/** What `hotlink VERB --json` prints. */
export interface Document {
  readonly schema: string;
  readonly records: readonly Row[];
  readonly notes: readonly string[];
}

/** Texts of files that are not in the catalog, by name: a site's own dumps, fabric files, price lists. */
export type Files = Readonly<Record<string, string>>;

/** What every question may have: arguments are those of Python's functions, with the same names and defaults. */
interface Common {
  readonly files?: Files;
  /** What fails: names of cables and switches, as the command's `--fail` takes them. */
  readonly fail?: readonly string[];
  /** A file with a site's tables, in addition to the file that is the fabric. */
  readonly routes?: string;
}

/** What questions about traffic have. */
export interface Pattern extends Common {
  readonly fabric: string;
  readonly nodes?: number | string | readonly number[];
  readonly traffic?: string;
  readonly capacities?: "measured" | "theoretical";
  readonly size?: number | string;
  readonly samples?: number;
  readonly hash_seeds?: number;
  readonly seed?: number;
  readonly paths?: string;
  readonly technology?: string;
}

export interface Analyze extends Pattern {
  readonly verb: "analyze";
  readonly method?: "formula" | "load" | "loggp" | "packet" | "both" | "all";
  readonly links?: boolean;
  /** Adds to `notes` how the bound comes about. */
  readonly why?: boolean;
  /** Adds the interval from inputs that are uncertain, and which inputs move it most. */
  readonly sensitivity?: boolean;
}

export interface Compare extends Omit<Pattern, "fabric"> {
  readonly verb: "compare";
  readonly fabrics: readonly string[];
  readonly method?: string;
  readonly prices?: string;
  readonly across_eras?: boolean;
}

/** `simulate`, `fabric inspect` and the like, `diagnose`, `design`, `schedule`: arguments as in Python. */
export interface Other extends Common {
  readonly verb: "simulate" | "diagnose" | "design" | "inspect" | "failures" | "groups" | "place" | "reroute" | "schedule";
  readonly [argument: string]: unknown;
}

export type Question = Analyze | Compare | Other;

/** A number of a directed link (of the fabric as built, failures included). */
export type LinkId = number;

/** Groups (pods, leaves' groups, planes) and the load between them; the worst links by name. */
export interface FabricView extends Pattern {
  readonly view: "fabric";
}
export interface LinkView extends Pattern {
  readonly view: "link";
  readonly link: LinkId;
}
export interface PairView extends Pattern {
  readonly view: "pair";
  readonly from: number;
  readonly to: number;
}
export type View = FabricView | LinkView | PairView;

export interface Group {
  readonly name: string;
  readonly hosts: number;
  readonly switches: number;
}
export interface HotLink {
  readonly link: LinkId;
  readonly from: string;
  readonly to: string;
  /** How full the link is when every host sends as much as the traffic allows: 1 is full. */
  readonly share: number;
  readonly load_Bps: number;
  /** Null: it is never a limit. */
  readonly capacity_Bps: number | null;
}
export interface FabricAnswer {
  readonly hosts: number;
  readonly switches: number;
  readonly links: number;
  readonly levels: number;
  readonly groups: readonly Group[];
  /** Row by row: the greatest load share of the links from group `row` to group `column`; -1 where there is none. */
  readonly matrix: { readonly rows: number; readonly cols: number; readonly load: readonly number[] };
  /** The 200 most loaded links, the worst first. */
  readonly hot: readonly HotLink[];
}
export interface User {
  readonly from: string;
  readonly to: string;
  readonly share: number;
}
export interface LinkAnswer extends HotLink {
  readonly users: readonly User[];
  readonly users_total: number;
  /** Other links from the same vertex that some route could take instead. */
  readonly alternatives: readonly Pick<HotLink, "link" | "from" | "to" | "share">[];
}
export interface Hop {
  readonly link: LinkId;
  readonly from: string;
  readonly to: string;
  readonly latency_us: number;
  readonly rate_Bps: number | null;
}
export interface PairAnswer {
  readonly routes: readonly (readonly Hop[])[];
  readonly latency_us: number;
  readonly parts: readonly { readonly part: string; readonly latency_us: number }[];
}
export type ViewAnswer<V extends View> = V extends FabricView
  ? FabricAnswer
  : V extends LinkView
    ? LinkAnswer
    : PairAnswer;

/** Parts of a question that are done, and how many there are (0: not known). */
export type Progress = (done: number, of: number) => void;

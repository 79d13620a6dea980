/** The page's memory: the state, the files, the last answers, and what is under way. Views read it, and ask through it. */
import { Cancelled, Engine } from "../engine";
import type { Analyze, Document, FabricAnswer, Files, LinkAnswer, PairAnswer, Progress, Question, Row, View } from "../engine";
import * as run from "../lib/trace";
import { analyze, compare, Mistake, pattern } from "./questions";
import { read, START, started, write, type State } from "./state";

/** What the command put into the page. */
interface Given {
  readonly question?: Partial<Analyze>;
  readonly files?: Files;
}

/** The numbers of the fabric shown, all of one question. */
export interface Network {
  readonly question: Analyze;
  readonly record: Row;
  readonly fabric: FabricAnswer;
  /** The hot link, and who uses it. */
  readonly hot: LinkAnswer | undefined;
}

/** A clicked number: its place, and the question behind it. */
export interface Origin {
  readonly label: string;
  readonly shown: string;
  readonly key: string;
  readonly record: Row;
  readonly question?: Question;
}

class Store {
  state: State = $state.raw(START);
  files: Files = $state.raw({});
  network: Network | undefined = $state.raw();
  link: LinkAnswer | undefined = $state.raw();
  pair: PairAnswer | undefined = $state.raw();
  compared: Document | undefined = $state.raw();
  run: { readonly name: string; readonly run: run.Run } | undefined = $state.raw();
  origin: Origin | undefined = $state.raw();
  /** What is under way, in words; empty: nothing. */
  busy = $state("");
  progress = $state.raw({ done: 0, of: 0 });
  error = $state("");
  /** The answers shown belong to an earlier question: it was stopped, or it failed. */
  stale = $state(false);
  ready = $state(false);

  #engine: Engine | undefined;
  #start: State = START;
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The question that the answers shown belong to. */
  #answered = "";

  /** Reads the hash and what the command gave, and starts the engine. */
  async open(given: Given): Promise<void> {
    this.#start = started(given.question);
    this.files = given.files ?? {};
    this.state = read(location.hash, this.#start);
    window.addEventListener("hashchange", () => {
      const next = read(location.hash, this.#start);
      if (write(next) !== write(this.state)) {
        this.#move(next);
      }
    });
    this.busy = "Loading the engine";
    try {
      this.#engine = await Engine.start();
      this.ready = true;
    } catch (error) {
      this.error = said(error);
    } finally {
      this.busy = "";
    }
    this.#refresh();
  }

  /** `window.hotlink.ask`: a question from outside, in addition to the page's. */
  ask(question: Question, progress?: Progress): Promise<Document> {
    return this.#engine ? this.#engine.ask(question, progress) : Promise.reject(new Error("the engine is not loaded"));
  }

  view(view: View): Promise<unknown> {
    return this.#engine ? this.#engine.view(view) : Promise.reject(new Error("the engine is not loaded"));
  }

  /** Changes the state, its hash, and what is shown. */
  set(change: Partial<State>): void {
    this.#move({ ...this.state, ...change });
    const hash = write(this.state, this.#start);
    history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  }

  #move(next: State): void {
    this.state = next;
    clearTimeout(this.#timer);
    // Keys that are held, and words that are typed, are one change.
    this.#timer = setTimeout(() => this.#refresh(), 120);
  }

  fail(part: string): void {
    if (!this.state.fail.includes(part)) {
      this.set({ fail: [...this.state.fail, part], link: -1 });
    }
  }

  repair(part: string): void {
    this.set({ fail: this.state.fail.filter((one) => one !== part), link: -1 });
  }

  /** Stops what is under way; the answers of before stay, marked. */
  cancel(): void {
    this.#turn++;
    this.#engine?.cancel();
    this.busy = "";
    this.stale = true;
  }

  /** Asks again, although nothing changed: after a stop or an error. */
  again(): void {
    this.#answered = "";
    this.#refresh();
  }

  /** Does work in steps, shows its progress, reports errors; a newer piece of work stops it. */
  async work(what: string, steps: (progress: Progress, current: () => boolean) => Promise<void>): Promise<void> {
    if (!this.#engine) {
      return;
    }
    const turn = ++this.#turn;
    if (this.busy !== "") {
      this.#engine.cancel();
    }
    const current = (): boolean => turn === this.#turn;
    this.busy = what;
    this.progress = { done: 0, of: 0 };
    this.error = "";
    try {
      await steps((done, of) => {
        if (current()) this.progress = { done, of };
      }, current);
      if (current()) this.stale = false;
    } catch (error) {
      if (current() && !(error instanceof Cancelled)) {
        this.error = said(error);
        this.stale = true;
      }
    } finally {
      if (current()) this.busy = "";
    }
  }

  /** Asks for what the view shows, where the answer on the page is another question's. */
  #refresh(): void {
    const { view } = this.state;
    if (view === "compare") {
      this.#ask("Comparing", () => compare(this.state, this.files), (question, progress, current) => this.#compare(question, progress, current));
    } else if (view === "link") {
      this.#ask("Counting load", () => ({ ...analyze(this.state, this.files), link: this.state.link }), (question, progress, current) => this.#link(question, progress, current));
    } else if (view === "pair") {
      const ends = { from: this.state.from, to: this.state.to };
      this.#ask("Finding routes", () => ({ ...analyze(this.state, this.files), ...ends }), (question, progress, current) => this.#pair(question, progress, current));
    } else if (view !== "run") {
      this.#ask("Counting load", () => analyze(this.state, this.files), (question, progress, current) => this.#network(question, progress, current));
    }
  }

  #ask<Q>(what: string, make: () => Q, answer: (question: Q, progress: Progress, current: () => boolean) => Promise<void>): void {
    let question: Q;
    try {
      question = make();
    } catch (error) {
      this.error = said(error);
      return;
    }
    const text = JSON.stringify(question);
    if (text === this.#answered) {
      return;
    }
    void this.work(what, async (progress, current) => {
      await answer(question, progress, current);
      if (current()) this.#answered = text;
    });
  }

  async #network(question: Analyze, progress: Progress, current: () => boolean): Promise<void> {
    if (this.network && JSON.stringify(this.network.question) === JSON.stringify(question)) {
      return;
    }
    const engine = this.#engine;
    if (!engine) return;
    const shown = pattern(this.state, this.files);
    const { records } = await engine.ask(question, progress);
    const fabric = await engine.view({ view: "fabric", ...shown });
    const [worst] = fabric.hot;
    const hot = worst ? await engine.view({ view: "link", link: worst.link, ...shown }) : undefined;
    const [record] = records;
    if (!record) throw new Error("the engine gave no record");
    if (current()) this.network = { question, record, fabric, hot };
  }

  async #link(question: Analyze & { link: number }, progress: Progress, current: () => boolean): Promise<void> {
    await this.#network(analyze(this.state, this.files), progress, current);
    if (!current() || !this.#engine) return;
    const link = question.link < 0 ? this.network?.hot : await this.#engine.view({ view: "link", link: question.link, ...pattern(this.state, this.files) });
    if (current()) this.link = link;
  }

  async #pair(question: Analyze & { from: number; to: number }, progress: Progress, current: () => boolean): Promise<void> {
    await this.#network(analyze(this.state, this.files), progress, current);
    if (!current() || !this.#engine) return;
    const hosts = this.network?.fabric.hosts ?? this.state.nodes;
    const to = question.to < 0 ? hosts - 1 : question.to;
    const pair = await this.#engine.view({ view: "pair", ...pattern(this.state, this.files), from: question.from, to });
    if (current()) this.pair = pair;
  }

  async #compare(question: ReturnType<typeof compare>, progress: Progress, current: () => boolean): Promise<void> {
    const document = await this.ask(question, progress);
    if (current()) this.compared = document;
  }

  /** Files that were dropped or chosen: a run, tables, a price list, or a fabric. */
  async take(list: Iterable<File>): Promise<void> {
    for (const file of list) {
      this.#file(file.name, await file.text());
    }
  }

  #file(name: string, text: string): void {
    if (/\.json$/i.test(name) && /"(traceEvents|records)"/.test(text)) {
      try {
        this.run = { name, run: run.read(name, text) };
        this.error = "";
      } catch (error) {
        this.error = said(error);
      }
      this.set({ view: "run" });
      return;
    }
    this.files = { ...this.files, [name]: text };
    if (/Unicast lids/.test(text)) {
      this.set({ routes: name, view: "network" });
    } else if (/^\s*currency\s*=/m.test(text) && !/^\s*\[topology\]/m.test(text)) {
      this.set({ prices: name, view: "compare" });
    } else if (/\.csv$/i.test(name)) {
      this.set({ traffic: `matrix:${name}`, job: "" });
    } else {
      this.set({ fabric: name, routes: "", fail: [], oversubscription: "", link: -1, view: "network" });
    }
    this.again();
  }
}

/** An error as the command reports it. */
function said(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return error instanceof Mistake ? text : text.replace(/^Error: /, "");
}

export const store = new Store();

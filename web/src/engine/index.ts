/**
 * The engine: `study`, compiled to WebAssembly, in a worker. Nothing here computes: questions go in and documents
 * come out as JSON. The numbers are those of the command to the last digit.
 */
import type { Document, Progress, Question, View, ViewAnswer } from "./types";
import type { Asked, Told } from "./worker";
import EngineWorker from "./worker?worker&inline";

export type * from "./types";

/** What waits for the worker. */
interface Waiting {
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
  readonly progress: Progress | undefined;
}

/** A question that was stopped. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
}

export class Engine {
  readonly #module: WebAssembly.Module;
  #worker: Worker;
  #waiting = new Map<number, Waiting>();
  #next = 0;

  private constructor(module: WebAssembly.Module) {
    this.#module = module;
    this.#worker = this.#start();
  }

  /** Compiles the engine that the page carries; without one, the engine that the server offers with the page. */
  static async start(): Promise<Engine> {
    return new Engine(await WebAssembly.compileStreaming(unpacked()));
  }

  /** The command's document. Rejects with the text that the command prints. */
  async ask(question: Question, progress?: Progress): Promise<Document> {
    return JSON.parse(await this.#send(JSON.stringify(question), progress)) as Document;
  }

  /** What a view draws. */
  async view<V extends View>(view: V, progress?: Progress): Promise<ViewAnswer<V>> {
    return JSON.parse(await this.#send(JSON.stringify(view), progress)) as ViewAnswer<V>;
  }

  /** Stops everything that is under way: it rejects with `Cancelled`. */
  cancel(): void {
    if (this.#waiting.size > 0) {
      this.#restart(new Cancelled("cancelled"));
    }
  }

  #send(text: string, progress: Progress | undefined): Promise<string> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, progress });
      this.#worker.postMessage({ id, text } satisfies Asked);
    });
  }

  #start(): Worker {
    const worker = new EngineWorker();
    worker.onmessage = (event: MessageEvent<Told>) => this.#hear(event.data);
    // A trap (out of memory, a mistake in the engine) leaves the instance unusable.
    worker.onerror = (event) => this.#restart(new Error(`the engine stopped: ${event.message}`));
    worker.postMessage({ module: this.#module } satisfies Asked);
    return worker;
  }

  #restart(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#worker.terminate();
    this.#worker = this.#start();
    for (const { reject } of waiting) {
      reject(error);
    }
  }

  #hear(told: Told): void {
    const waiting = this.#waiting.get(told.id);
    if (waiting === undefined) {
      return;
    }
    if ("done" in told) {
      waiting.progress?.(told.done, told.of);
      return;
    }
    this.#waiting.delete(told.id);
    if ("error" in told) {
      waiting.reject(new Error(told.error));
    } else {
      waiting.resolve(told.text);
    }
  }
}

/**
 * The engine, packed by gzip: base64 in the page (an export holds all that it needs), or a file next to the page. It
 * is unpacked and compiled as it arrives.
 */
async function unpacked(): Promise<Response> {
  const text = document.getElementById("engine")?.textContent ?? "";
  const packed = text === "" ? await fetched() : new Blob([decoded(text)]).stream();
  const stream = packed.pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream, { headers: { "Content-Type": "application/wasm" } });
}

async function fetched(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const answer = await fetch(`engine.wasm.gz${location.search}`);
  if (!answer.ok || !answer.body) {
    throw new Error(`the engine could not be loaded: ${answer.status} ${answer.statusText}`);
  }
  return answer.body;
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < characters.length; at++) {
    bytes[at] = characters.charCodeAt(at);
  }
  return bytes;
}

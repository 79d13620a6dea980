/** The engine's worker: one instance, one question at a time. */
import { instance, type Door } from "./door";

/** What the worker is sent: first the compiled engine, then questions. */
export type Asked = { readonly module: WebAssembly.Module } | { readonly id: number; readonly text: string };

/** Its messages: the progress of a question, and its answer. */
export type Told =
  | { readonly id: number; readonly done: number; readonly of: number }
  | { readonly id: number; readonly text: string }
  | { readonly id: number; readonly error: string };

let current = -1;
let door: Promise<Door>;
let last = 0;

function tell(told: Told): void {
  self.postMessage(told);
}

/** Steps may be a million a second: only as many as the eye sees are reported. */
function progress(done: number, of: number): void {
  const now = performance.now();
  if (now - last > 50) {
    last = now;
    tell({ id: current, done, of });
  }
}

self.onmessage = async (event: MessageEvent<Asked>) => {
  const asked = event.data;
  if ("module" in asked) {
    door = instance(asked.module, progress);
    return;
  }
  const ask = (await door).ask;
  current = asked.id;
  const answer = ask(asked.text);
  tell({ id: asked.id, ...answer });
};

/** The raw interface of the compiled engine: texts in, texts out, through its memory (see `crates/wasm`). */

/** A text, or the error that the command would print. */
export type Answer = { readonly text: string } | { readonly error: string };

export interface Door {
  readonly ask: (question: string) => Answer;
}

interface Exports extends WebAssembly.Exports {
  readonly memory: WebAssembly.Memory;
  /** Room for a question of that many bytes. */
  hotlink_room(bytes: number): number;
  /** Answers the question in that room: 0, or 1 where it is an error. */
  hotlink_ask(): number;
  /** Where the answer begins, and its bytes. */
  hotlink_answer(): number;
  hotlink_answer_bytes(): number;
}

/** An instance of the engine; `progress` is called while it works. */
export async function instance(
  module: WebAssembly.Module,
  progress: (done: number, of: number) => void,
): Promise<Door> {
  const { exports } = await WebAssembly.instantiate(module, { hotlink: { progress } });
  const engine = exports as Exports;
  const ask = (question: string): Answer => {
    const given = new TextEncoder().encode(question);
    const room = engine.hotlink_room(given.length);
    // The memory may grow, and move, with every call: it is looked up anew each time.
    new Uint8Array(engine.memory.buffer, room, given.length).set(given);
    const status = engine.hotlink_ask();
    const start = engine.hotlink_answer();
    const text = new TextDecoder().decode(new Uint8Array(engine.memory.buffer, start, engine.hotlink_answer_bytes()));
    return status === 0 ? { text } : { error: text };
  };
  return { ask };
}

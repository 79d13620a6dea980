// ask.mjs ENGINE: asks the compiled engine each question of standard input (one a line). For each it prints one JSON a
// line: the bytes of the answer as a text, and whether it is an error.
import { readFileSync } from "node:fs";

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const { exports } = await WebAssembly.instantiate(module, { hotlink: { progress: () => {} } });
for (const line of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const question = new TextEncoder().encode(line);
  const room = exports.hotlink_room(question.length);
  new Uint8Array(exports.memory.buffer, room, question.length).set(question);
  const failed = exports.hotlink_ask() !== 0;
  const bytes = new Uint8Array(exports.memory.buffer, exports.hotlink_answer(), exports.hotlink_answer_bytes());
  process.stdout.write(`${JSON.stringify({ failed, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) })}\n`);
}

/** Names that stand where room is short. The whole name is told elsewhere. */

/** Letters that a row of a matrix has room for. */
const MOST = 18;

/** `middle 0 to middle 5` as `middle 0–5`. */
function ranged(name: string): string {
  const ends = /^(.*\D)(\d+) to (.*\D)(\d+)$/.exec(name);
  return ends && ends[1] === ends[3] ? `${ends[1] ?? ""}${ends[2] ?? ""}–${ends[4] ?? ""}` : name;
}

/** What all names begin with, up to the end of a word. */
function common(names: readonly string[]): string {
  let prefix = names[0] ?? "";
  for (const name of names) {
    while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  return prefix.slice(0, prefix.search(/[^\s._:/-]*$/));
}

/** Names, as many letters of each as there is room for: without what all of them begin with, then without their middles. */
export function short(names: readonly string[], most = MOST): string[] {
  const told = names.map(ranged);
  const prefix = told.length > 1 && told.some((name) => name.length > most) ? common(told) : "";
  const half = Math.floor((most - 1) / 2);
  return told.map((name) => {
    const own = name.slice(prefix.length);
    return own.length > most ? `${own.slice(0, most - 1 - half)}…${own.slice(-half)}` : own;
  });
}

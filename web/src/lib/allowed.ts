/** What the fields of a question may hold, in words, and what is wrong with a text. The engine judges what a network allows. */

/** A rule of a field. */
export interface Rule {
  /** What is allowed, in words. */
  readonly allowed: string;
  /** Whether a text is. */
  readonly holds: (text: string) => boolean;
}

/** One whole number between two ends. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Rule {
  const far = most === Number.MAX_SAFE_INTEGER ? `from ${least.toLocaleString("en-US")} on` : `from ${least.toLocaleString("en-US")} to ${most.toLocaleString("en-US")}`;
  return {
    allowed: `one whole number ${far}`,
    holds: (text) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
  };
}

export const SIZE: Rule = {
  allowed: "one size in whole bytes, such as 8, 64KiB or 1MB",
  holds: (text) => /^\d+\s*([kKMGT]i?B|B)?$/.test(text),
};

export const COUNTS: Rule = {
  allowed: "numbers of nodes, such as 64, 64,128,512, 64..1024..+64 or 2..1024..x2",
  holds: (text) => /^\d+(\.\.\d+(\.\.[x+]?\d+)?)?(\s*,\s*\d+(\.\.\d+(\.\.[x+]?\d+)?)?)*$/.test(text),
};

export const RATIO: Rule = {
  allowed: "a ratio from 1 on, such as 2, 1.5 or 2:1; empty: as described",
  holds: (text) => {
    const ratio = /^(\d+(?:\.\d+)?)(?::(\d+(?:\.\d+)?))?$/.exec(text);
    return text === "" || (ratio !== null && Number(ratio[1]) >= Number(ratio[2] ?? 1) && Number(ratio[2] ?? 1) > 0);
  },
};

/** Any text, of which the engine knows more. */
export function any(allowed: string): Rule {
  return { allowed, holds: (text) => text !== "" };
}

/** What the engine's error says of a field; empty: it is of something else. */
export function fault(error: string, field: string, fabric = ""): string {
  if (error.startsWith(`${field}: `)) return error.slice(field.length + 2);
  if (field === "nodes") return /^\S+ with \d+ nodes: (.*)$/s.exec(error)?.[1] ?? "";
  if (field === "oversubscription") return /\boversubscription(?: =|:) (.*)$/s.exec(error)?.[1] ?? "";
  return field === "fabric" && fabric !== "" && error.startsWith(`${fabric}: `) ? error.slice(fabric.length + 2) : "";
}

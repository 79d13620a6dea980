/** Numbers as people read them: three to five digits, units of the key, nothing rounded to a lie. */
import type { Value } from "../engine";

const DIGITS = 4;

/** A number with at most `digits` significant ones, thousands apart. */
export function number(value: number, digits = DIGITS): string {
  if (!Number.isFinite(value)) {
    return String(value);
  }
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) {
    return value.toLocaleString("en-US");
  }
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) {
    return value.toExponential(digits - 1);
  }
  return value.toLocaleString("en-US", { maximumSignificantDigits: size >= 10 ** digits ? undefined : digits, maximumFractionDigits: size >= 10 ** digits ? 0 : undefined });
}

/** A share as a percentage. Only 1 is 100 %: a share a little below must not look whole. */
export function percent(share: number): string {
  const hundredth = share * 100;
  if (hundredth < 100 && hundredth > 99.9) {
    return "99.9 %";
  }
  return `${hundredth.toLocaleString("en-US", { maximumFractionDigits: hundredth >= 10 ? 1 : 2 })} %`;
}

/** A rate in bytes a second, in the unit of 1000s that fits. A resource without a rate is never a limit. */
export function rate(bytesPerSecond: number | null): string {
  if (bytesPerSecond === null) {
    return "no limit";
  }
  return scaled(bytesPerSecond, [
    [1e12, "TB/s"],
    [1e9, "GB/s"],
    [1e6, "MB/s"],
    [1e3, "kB/s"],
    [1, "B/s"],
  ]);
}

/** Bytes in units of 1024, as `--size` reads them. */
export function bytes(count: number): string {
  return scaled(count, [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "B"],
  ]);
}

/** Microseconds, in the unit that fits. */
export function time(microseconds: number): string {
  return scaled(microseconds, [
    [1e6, "s"],
    [1e3, "ms"],
    [1, "µs"],
    [1e-3, "ns"],
    [1e-6, "ps"],
  ]);
}

function scaled(value: number, units: readonly (readonly [number, string])[]): string {
  const last = units[units.length - 1];
  const unit = units.find(([factor]) => Math.abs(value) >= factor) ?? (value === 0 ? units.find(([factor]) => factor === 1) : last) ?? [1, ""];
  return `${number(value / unit[0])} ${unit[1]}`;
}

/** Units that keys of records end with, the longest first: `cost_per_MBps_USD_low` is in USD. */
const SUFFIXES: readonly (readonly [RegExp, (value: number, currency: string) => string])[] = [
  [/_MBps$/, (value) => rate(value * 1e6)],
  [/_Bps$/, (value) => rate(value)],
  [/_B$/, (value) => bytes(value)],
  [/_us$/, (value) => time(value)],
  [/_kW$/, (value) => `${number(value)} kW`],
  [/_(USD|EUR|[A-Z]{3})$/, (value, currency) => money(value, currency)],
  [/^(efficiency|load|share)$|_share$/, (value) => percent(value)],
];

/** Money in whole units where it is much. */
export function money(value: number, currency: string): string {
  return `${number(value)} ${currency}`;
}

/** A record's value by its key, whose end is the unit. */
export function byKey(key: string, value: Value | undefined): string {
  if (value === undefined || value === null) {
    return "–";
  }
  if (typeof value !== "number") {
    return typeof value === "string" ? value : JSON.stringify(value);
  }
  const plain = key.replace(/_(low|high)$/, "");
  for (const [end, write] of SUFFIXES) {
    const found = end.exec(plain);
    if (found) {
      return write(value, found[1] ?? "");
    }
  }
  return number(value);
}

/** A record's value as text, whatever it is. */
export function text(value: Value | undefined): string {
  if (value === undefined || value === null) {
    return "";
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A key as words: `bound_bandwidth_per_node_MBps` reads "bound bandwidth per node". */
export function words(key: string): string {
  return key.replace(/_(MBps|Bps|B|us|kW|USD|EUR)(_low|_high)?$/, "$2").replaceAll("_", " ");
}

/** Of many. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${number(many)} ${many === 1 ? one : more}`;
}

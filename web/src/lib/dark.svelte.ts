/** Whether the person's system is dark: canvas has no `prefers-color-scheme` of its own. */
import { MediaQuery } from "svelte/reactivity";

export const dark = new MediaQuery("prefers-color-scheme: dark");

/** Called where something is drawn: it is drawn again when the scheme changes. */
export function scheme(): "dark" | "light" {
  return dark.current ? "dark" : "light";
}

/** A colour of the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

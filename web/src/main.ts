/** The page: reads what the command put into it, and starts. */
import { mount } from "svelte";
import App from "./App.svelte";
import type { Document, Question } from "./engine";
import { store } from "./state/store.svelte";
import "./style.css";

declare global {
  interface Window {
    /** The engine for programs: the same question gives the command's records. */
    hotlink: { ask(question: Question): Promise<Document> };
  }
}

window.hotlink = { ask: (question) => store.ask(question) };

const target = document.getElementById("app");
if (target) {
  mount(App, { target });
  const given = document.getElementById("state")?.textContent ?? "";
  void store.open(JSON.parse(given.trim() === "" ? "{}" : given) as Parameters<typeof store.open>[0]);
}

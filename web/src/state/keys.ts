/** The keyboard: two-letter ways to places, j and k through lists, a to answer, r to resume, / to search, ? for help. */

import { signal } from "@preact/signals";

import { atOnce } from "./at_once";
import { go } from "./router";

export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);
/** What `r` does on this view; null: nothing. */
export const onResume = signal<(() => void) | null>(null);

export const SHORTCUTS: readonly [string, string][] = [
  ["Ctrl K", "find anything, do anything"],
  ["g i", "what needs you"],
  ["g s", "sessions"],
  ["g f", "features"],
  ["g j", "jobs"],
  ["g r", "report"],
  ["g m", "machine"],
  ["j  k", "next, previous"],
  ["Enter", "open it"],
  ["a", "answer the question"],
  ["r", "resume the session"],
  ["/", "search"],
  ["?", "this list"],
];

const PLACES: Record<string, string> = { i: "/", s: "/sessions", f: "/f", j: "/jobs", r: "/report", m: "/machine" };
let wasG = 0;

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      atOnce(() => (isPaletteOpen.value = !isPaletteOpen.value));
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const key = event.key;
    const place = PLACES[key];
    if (Date.now() - wasG < 1200 && place !== undefined) {
      wasG = 0;
      event.preventDefault();
      atOnce(() => go(place));
      return;
    }
    wasG = key === "g" ? Date.now() : 0;
    const does: Record<string, () => void> = {
      j: () => move(1),
      k: () => move(-1),
      a: answer,
      r: () => onResume.value?.(),
      "/": () => go("/search"),
      "?": () => (isHelpOpen.value = true),
    };
    if (does[key] !== undefined) {
      event.preventDefault();
      atOnce(does[key]);
    }
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function items(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-item]")].filter((one) => one.offsetParent !== null);
}

function move(by: number): void {
  const all = items();
  if (all.length === 0) return;
  const here = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by));
  all[next]?.focus();
  all[next]?.scrollIntoView({ block: "nearest" });
}

/** To the buttons of the question that is selected, else of the first one. Enter then chooses. */
function answer(): void {
  const here = document.activeElement?.closest<HTMLElement>("[data-question]");
  const card = here ?? document.querySelector<HTMLElement>("[data-question]");
  if (card === null || card === undefined) {
    go("/");
    return;
  }
  card.scrollIntoView({ block: "nearest" });
  const target = card.querySelector<HTMLElement>("button[data-option]:not(:disabled)") ?? card.querySelector<HTMLElement>(".detail, a[href]");
  target?.focus();
}

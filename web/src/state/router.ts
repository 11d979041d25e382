/** Where in the page somebody is. Every place has an address, and every message too. */

import { signal } from "@preact/signals";

export type Place =
  | { view: "home" }
  | { view: "sessions" }
  | { view: "session"; id: string; message: number | null; attempt: number | null; tab: string }
  | { view: "features" }
  | { view: "feature"; repository: string; name: string }
  | { view: "jobs"; id: string | null }
  | { view: "search"; query: string }
  | { view: "report"; since: string }
  | { view: "machine" }
  | { view: "question"; id: string }
  | { view: "nowhere" };

export function parse(path: string, search: string, hash: string): Place {
  const parts = path.split("/").filter(Boolean).map(decoded);
  const query = new URLSearchParams(search);
  const [first, second, third] = parts;
  switch (first) {
    case undefined:
      return { view: "home" };
    case "sessions":
      return { view: "sessions" };
    case "s": {
      if (second === undefined) return { view: "sessions" };
      const found = /^#([ma])(\d+)$/.exec(hash);
      const number = (kind: string): number | null => (found !== null && found[1] === kind ? Number(found[2]) : null);
      return { view: "session", id: second, message: number("m"), attempt: number("a"), tab: third ?? "" };
    }
    case "f":
      if (second === undefined) return { view: "features" };
      return { view: "feature", name: second, repository: query.get("in") ?? "" };
    case "jobs":
      return { view: "jobs", id: second ?? null };
    case "search":
      return { view: "search", query: query.get("q") ?? "" };
    case "report":
      return { view: "report", since: query.get("since") ?? "" };
    case "machine":
      return { view: "machine" };
    case "q":
      return second === undefined ? { view: "home" } : { view: "question", id: second };
    default:
      return { view: "nowhere" };
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const toSession = (id: string, message?: number): string =>
  `/s/${encodeURIComponent(id)}${message === undefined ? "" : `#m${message}`}`;
export const toAttempt = (id: string, attempt: number): string => `/s/${encodeURIComponent(id)}#a${attempt}`;
export const toFeature = (name: string, repository: string): string =>
  `/f/${encodeURIComponent(name)}?in=${encodeURIComponent(repository)}`;
export const toJob = (id: string): string => `/jobs/${encodeURIComponent(id)}`;
export const toQuestion = (id: string): string => `/q/${encodeURIComponent(id)}`;

export const place = signal<Place>({ view: "home" });

function look(): void {
  place.value = parse(location.pathname, location.search, location.hash);
}

/** Go somewhere; `quietly`: without a step in the history. */
export function go(path: string, quietly = false): void {
  if (path === location.pathname + location.search + location.hash) {
    look();
    return;
  }
  if (quietly) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  look();
}

/** Links inside the page are followed without loading it again; whatever opens a new tab is left to the browser. */
export function startRouting(): void {
  look();
  addEventListener("popstate", look);
  addEventListener("hashchange", look);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
    event.preventDefault();
    const samePlace = link.pathname === location.pathname;
    go(link.pathname + link.search + link.hash);
    if (!samePlace) scrollTo(0, 0);
  });
}

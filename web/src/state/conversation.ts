/**
 * A conversation's entries as the blocks that a person reads. Pure.
 *
 * Entries have an index `n` that never changes; only the newest one may still grow. Pieces of one answer are joined, and
 * a tool's result goes to its call, so that what was said and done stands where it began.
 */

import type { Entry } from "../api/types";

export interface ToolBlock {
  kind: "tool";
  n: number;
  attempt: number;
  title: string;
  state: "running" | "completed" | "failed" | "unknown";
  output: string;
}

export interface TextBlock {
  kind: "prompt" | "told" | "said" | "thought" | "plan" | "question" | "end" | "error" | "attempt" | "note";
  n: number;
  attempt: number;
  text: string;
}

export type Block = ToolBlock | TextBlock;

/** A part of a conversation that is at hand: entries `from` … `from + entries.length - 1` of `total`. */
export interface Loaded {
  from: number;
  total: number;
  entries: readonly Entry[];
}

export const NOTHING: Loaded = { from: 0, total: 0, entries: [] };

/** The blocks of some entries. `isOver`: nothing follows, so a call without a result has none that anybody knows. */
export function blocks(entries: readonly Entry[], isOver: boolean): Block[] {
  const made: Block[] = [];
  const calls = new Map<string, ToolBlock>();
  let newest = 0;
  for (const entry of entries) {
    newest = Math.max(newest, entry.attempt);
    const last = made[made.length - 1];
    switch (entry.kind) {
      case "said":
      case "thought":
        if (last !== undefined && last.kind === entry.kind && last.attempt === entry.attempt) {
          made[made.length - 1] = { ...last, text: last.text + entry.text };
        } else if (entry.text !== "") {
          made.push({ kind: entry.kind, n: entry.n, attempt: entry.attempt, text: entry.text });
        }
        break;
      case "tool": {
        const block: ToolBlock = {
          kind: "tool", n: entry.n, attempt: entry.attempt, title: entry.text, state: "running", output: "",
        };
        calls.set(`${entry.attempt} ${entry.call}`, block);
        made.push(block);
        break;
      }
      case "tool_done": {
        const { state, output } = result(entry.text);
        const call = calls.get(`${entry.attempt} ${entry.call}`);
        if (call !== undefined) {
          call.state = state;
          call.output = output;
        } else {
          // its beginning is further up than what is loaded
          made.push({ kind: "tool", n: entry.n, attempt: entry.attempt, title: "a tool", state, output });
        }
        break;
      }
      case "end":
        if (entry.text !== "end_turn") made.push({ kind: "end", n: entry.n, attempt: entry.attempt, text: entry.text });
        break;
      default:
        made.push({ kind: entry.kind, n: entry.n, attempt: entry.attempt, text: entry.text });
    }
  }
  for (const block of calls.values()) {
    if (block.state === "running" && (isOver || block.attempt < newest)) block.state = "unknown";
  }
  return made;
}

function result(text: string): { state: "completed" | "failed"; output: string } {
  const state = text.startsWith("failed") ? "failed" : "completed";
  const at = text.indexOf(": ");
  return { state, output: at < 0 ? "" : text.slice(at + 2) };
}

/**
 * New entries put into what is loaded: those that it has are replaced, those that follow are added. Where a hole would
 * be left, nothing is added but the total is remembered, and the caller has to fetch.
 */
export function received(known: Loaded, entries: readonly Entry[], total: number): { loaded: Loaded; hasHole: boolean } {
  const end = known.from + known.entries.length;
  const made = known.entries.slice();
  let hasHole = false;
  for (const entry of [...entries].sort((a, b) => a.n - b.n)) {
    const at = entry.n - known.from;
    if (at < 0) continue;
    if (at < made.length) made[at] = entry;
    else if (at === made.length && (end >= known.total || made.length > known.entries.length)) made.push(entry);
    else hasHole = true;
  }
  const most = Math.max(total, known.total, known.from + made.length);
  return { loaded: { from: known.from, total: most, entries: made }, hasHole };
}

/** An earlier or later part joined to what is loaded; at most `most` entries are kept, the far end goes. */
export function joined(known: Loaded, part: Loaded, most: number): Loaded {
  const total = Math.max(known.total, part.total);
  if (known.entries.length === 0 || !touches(known, part)) return { ...part, total };
  const from = Math.min(known.from, part.from);
  const end = Math.max(known.from + known.entries.length, part.from + part.entries.length);
  const entries: Entry[] = [];
  for (let n = from; n < end; n += 1) {
    const one = part.entries[n - part.from] ?? known.entries[n - known.from];
    if (one !== undefined) entries.push(one);
  }
  if (entries.length <= most) return { from, total, entries };
  return part.from < known.from
    ? { from, total, entries: entries.slice(0, most) }
    : { from: end - most, total, entries: entries.slice(entries.length - most) };
}

function touches(a: Loaded, b: Loaded): boolean {
  return a.from <= b.from + b.entries.length && b.from <= a.from + a.entries.length;
}

/** Whether the newest entry is loaded: then the view can follow the end. */
export function isAtEnd(known: Loaded): boolean {
  return known.from + known.entries.length >= known.total;
}

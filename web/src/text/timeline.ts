/** The life of a session on a line: attempts, what cut them, and what was asked. Pure. */

import type { Attempt, Fact, Prompt } from "../api/types";

export interface Life {
  attempt: number;
  from: number;
  to: number;
  isOpen: boolean;
}

export interface Mark {
  kind: "prompt" | "cut" | "stopped" | "back" | "begun";
  at: number;
  attempt: number;
  text: string;
}

export interface Story {
  from: number;
  to: number;
  lives: Life[];
  marks: Mark[];
}

const MOST_PROMPTS = 60;

/** What the facts say about when each attempt began and ended; where they do not, the nearest time that is known. */
export function story(attempts: readonly Attempt[], prompts: readonly Prompt[], facts: readonly Fact[], created: number, now: number): Story {
  const begun = new Map<number, number>();
  const ended = new Map<number, Fact>();
  for (const fact of facts) {
    const number = typeof fact["attempt"] === "number" ? fact["attempt"] : 0;
    if (fact.fact === "launch_intended" && !begun.has(number)) begun.set(number, fact.at);
    if (fact.fact === "exited" || fact.fact === "launch_failed") ended.set(number, fact);
  }
  const lives: Life[] = [];
  const marks: Mark[] = [];
  let last = created;
  for (const attempt of attempts) {
    const from = begun.get(attempt.number) ?? (attempt.opened_at > 0 ? attempt.opened_at : last);
    const end = ended.get(attempt.number);
    const isOpen = attempt.status !== "gone";
    const to = isOpen ? now : Math.max(from, end?.at ?? attempt.opened_at);
    lives.push({ attempt: attempt.number, from, to, isOpen });
    marks.push({ kind: attempt.number === 1 ? "begun" : "back", at: from, attempt: attempt.number, text: attempt.number === 1 ? "begun" : attempt.how === "load" ? "brought back" : "begun anew" });
    if (!isOpen) {
      const kind = attempt.by_us ? "stopped" : "cut";
      marks.push({ kind, at: to, attempt: attempt.number, text: attempt.how_ended || (kind === "cut" ? "its agent was gone" : "stopped") });
    }
    last = to;
  }
  for (const prompt of prompts.filter((one) => one.sent_at > 0 && one.by !== "rekindle").slice(-MOST_PROMPTS)) {
    marks.push({ kind: "prompt", at: prompt.sent_at, attempt: prompt.attempt, text: prompt.text.trim().split("\n", 1)[0] ?? "" });
  }
  marks.sort((a, b) => a.at - b.at);
  const isRunning = lives.some((one) => one.isOpen);
  const to = isRunning ? now : Math.max(created, ...lives.map((one) => one.to), ...marks.map((one) => one.at));
  return { from: Math.min(created, ...lives.map((one) => one.from)), to, lives, marks };
}

/**
 * Where times stand on a line on which long rests are short: an agent that rested all night would otherwise push
 * everything that happened into one corner. The order holds, and no two marks are closer than a finger's width allows.
 */
export function ruler(times: readonly number[], width: number): (at: number) => number {
  const ticks = [...new Set(times)].sort((a, b) => a - b);
  const steps = ticks.slice(1).map((at, n) => Math.log1p((at - (ticks[n] ?? at)) / 10));
  if (steps.length === 0) return () => 0;
  const least = Math.min(18, width / steps.length);
  const sum = steps.reduce((a, b) => a + b, 0) || 1;
  const spare = Math.max(0, width - least * steps.length);
  const places = [0];
  for (const step of steps) places.push((places[places.length - 1] ?? 0) + least + (spare * step) / sum);
  return (at) => {
    const next = ticks.findIndex((tick) => tick >= at);
    if (next < 0) return width;
    if (next === 0) return 0;
    const [before = at, after = at] = [ticks[next - 1], ticks[next]];
    const [x1 = 0, x2 = 0] = [places[next - 1], places[next]];
    return x1 + (after > before ? ((at - before) / (after - before)) * (x2 - x1) : 0);
  };
}

export interface Label { x: number; text: string }

/** Words under marks, as far as there is room for them; the first and the last time are there anyway. */
export function labels(marks: readonly Mark[], x: (at: number) => number, width: number, time: (at: number) => string): Label[] {
  const found: Label[] = [];
  let taken = 48;
  for (const mark of marks) {
    const text = mark.kind === "cut" ? (mark.text.split(" by ", 1)[0] ?? "") : mark.kind === "back" ? `back ${time(mark.at)}` : "";
    if (text === "" || text.length > 20) continue;
    const [half, middle] = [text.length * 3 + 6, x(mark.at)];
    if (middle - half < taken || middle + half > width - 48) continue;
    found.push({ x: middle, text });
    taken = middle + half;
  }
  return found;
}

/** Where a time stands on a line of this width. */
export function placeOn(at: number, from: number, to: number, width: number): number {
  return to > from ? Math.min(width, Math.max(0, ((at - from) / (to - from)) * width)) : 0;
}

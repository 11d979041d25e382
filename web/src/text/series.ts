/** What a session used over time, from its facts. Pure. */

import type { Fact } from "../api/types";

export interface Series {
  times: number[];
  values: number[];
}

export interface Used {
  context: Series;
  window: number | null;
  tokens: Series;
  cost: Series;
}

interface Amount {
  tokens: number;
  cost: number | null;
}

/** A turn reports its totals again and again: the newest report of each turn counts, and turns add up. */
export function used(facts: readonly Fact[]): Used {
  const found: Used = { context: empty(), window: null, tokens: empty(), cost: empty() };
  const turns = new Map<string, Amount>();
  for (const fact of facts) {
    const context = fact["context"];
    if (fact.fact === "turn_finished" && typeof context === "number") {
      put(found.context, fact.at, context);
      const window = fact["window"];
      if (typeof window === "number") found.window = window;
    }
    const amount = amountOf(fact["usage"]);
    if (amount === null || !["spent", "turn_finished", "turn_failed"].includes(fact.fact)) continue;
    turns.set(`${String(fact["attempt"])} ${String(fact["prompt"])}`, amount);
    let tokens = 0;
    let cost: number | null = null;
    for (const one of turns.values()) {
      tokens += one.tokens;
      if (one.cost !== null) cost = (cost ?? 0) + one.cost;
    }
    put(found.tokens, fact.at, tokens);
    if (cost !== null) put(found.cost, fact.at, cost);
  }
  return found;
}

function amountOf(usage: unknown): Amount | null {
  if (typeof usage !== "object" || usage === null) return null;
  const fields = usage as Record<string, unknown>;
  const number = (name: string): number => (typeof fields[name] === "number" ? (fields[name] as number) : 0);
  const cost = typeof fields["cost"] === "number" ? (fields["cost"] as number) : null;
  return { tokens: number("input_tokens") + number("output_tokens") + number("cached_tokens"), cost };
}

const empty = (): Series => ({ times: [], values: [] });

function put(series: Series, at: number, value: number): void {
  const last = series.times[series.times.length - 1];
  if (last !== undefined && at <= last) {
    series.values[series.values.length - 1] = value;
    return;
  }
  series.times.push(at);
  series.values.push(value);
}

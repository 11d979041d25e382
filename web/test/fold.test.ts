import { describe, expect, it } from "vitest";

import type { Entry, Fact, SessionView } from "../src/api/types";
import { blocks, isAtEnd, joined, NOTHING, received, type Loaded } from "../src/state/conversation";
import { answered, newestFirst, pushed, type Pushed } from "../src/state/live";
import { parse } from "../src/state/router";
import { used } from "../src/text/series";
import { story } from "../src/text/timeline";

const view = (id: string, changed: number, generation = 1): SessionView => ({ id, changed_at: changed, generation, status: `at ${changed}` }) as unknown as SessionView;
const event = (seq: number, id: string, changed: number, more = false): Pushed => ({ seq, more, session: id, view: view(id, changed) });

describe("the fold of events", () => {
  const start = answered(null, 10, [view("a", 1), view("b", 2)]);
  it("counts every event once, in any repetition", () => {
    const once = [event(11, "a", 3), event(12, "b", 4)].reduce(pushed, start);
    const twice = [event(11, "a", 3), event(12, "b", 4), event(11, "a", 3), event(12, "b", 4), event(5, "a", 0)].reduce(pushed, start);
    expect(twice).toEqual(once);
    expect(once.seq).toBe(12);
  });
  it("knows a place only when all events of that place are there", () => {
    const half = pushed(start, event(11, "a", 3, true));
    expect(half.seq).toBe(10);
    expect(half.sessions.get("a")?.changed_at).toBe(3);
    expect(pushed(half, event(11, "a", 3)).seq).toBe(11);
  });
  it("does not go back to an answer that was overtaken", () => {
    const ahead = pushed(start, event(11, "a", 9));
    const late = answered(ahead, 10, [view("a", 1), view("b", 2), view("c", 5)]);
    expect([late.seq, late.sessions.get("a")?.changed_at, late.sessions.has("c")]).toEqual([11, 9, true]);
  });
  it("takes a newer answer as it is, also for what is gone", () => {
    expect([...answered(start, 20, [view("b", 8)]).sessions.keys()]).toEqual(["b"]);
  });
  it("of a view that is to follow changes only the place", () => {
    const after = pushed(start, { seq: 11, more: false, session: "a", view: null });
    expect([after.seq, after.sessions]).toEqual([11, start.sessions]);
  });
  it("orders by what changed last", () => {
    expect(newestFirst(start.sessions.values()).map((one) => one.id)).toEqual(["b", "a"]);
  });
});

const entry = (n: number, kind: Entry["kind"], text: string, call = "", attempt = 1): Entry => ({ n, kind, text, attempt, call, at: null, append: false });
const numbers = (loaded: Loaded): number[] => loaded.entries.map((one) => one.n);
const range = (from: number, count: number, total: number): Loaded => ({ from, total, entries: Array.from({ length: count }, (_, at) => entry(from + at, "note", String(from + at))) });

describe("blocks", () => {
  it("join the pieces of an answer and put a result to its call", () => {
    const made = blocks([entry(0, "prompt", "do"), entry(1, "said", "I "), entry(2, "said", "go"), entry(3, "tool", "Bash make", "c1"), entry(4, "said", "x"), entry(5, "tool_done", "completed: ok: yes", "c1"), entry(6, "end", "end_turn")], true);
    expect(made.map((one) => [one.kind, one.n])).toEqual([["prompt", 0], ["said", 1], ["tool", 3], ["said", 4]]);
    expect(made[1]).toMatchObject({ text: "I go" });
    expect(made[2]).toMatchObject({ state: "completed", output: "ok: yes" });
  });
  it("call a tool without a result unknown once its attempt is over, and running before", () => {
    const cut = [entry(0, "tool", "make deploy", "c"), entry(1, "attempt", "attempt 2", "", 2)];
    expect(blocks(cut, false)[0]).toMatchObject({ state: "unknown" });
    expect(blocks([entry(0, "tool", "make deploy", "c")], false)[0]).toMatchObject({ state: "running" });
    expect(blocks([entry(0, "tool", "make deploy", "c")], true)[0]).toMatchObject({ state: "unknown" });
  });
  it("do not mix the calls of two attempts", () => {
    const made = blocks([entry(0, "tool", "one", "c", 1), entry(1, "tool", "two", "c", 2), entry(2, "tool_done", "failed: no", "c", 2)], false);
    expect(made).toMatchObject([{ state: "unknown" }, { state: "failed", output: "no" }]);
  });
  it("show a result whose call is further up", () => {
    expect(blocks([entry(7, "tool_done", "completed", "c")], false)).toMatchObject([{ kind: "tool", n: 7, state: "completed" }]);
  });
});

describe("windowing", () => {
  it("adds what follows, replaces what grew, and never leaves a hole", () => {
    const known = range(5, 3, 8);
    const more = received(known, [entry(7, "note", "grown"), entry(8, "note", "8")], 9);
    expect([numbers(more.loaded), more.loaded.entries[2]?.text, more.hasHole]).toEqual([[5, 6, 7, 8], "grown", false]);
    const hole = received(known, [entry(20, "note", "20")], 21);
    expect([numbers(hole.loaded), hole.loaded.total, hole.hasHole]).toEqual([[5, 6, 7], 21, true]);
  });
  it("adds nothing while an older part is on the screen", () => {
    const old = range(0, 5, 100);
    expect(numbers(received(old, [entry(100, "note", "new")], 101).loaded)).toEqual([0, 1, 2, 3, 4]);
    expect(isAtEnd(old)).toBe(false);
  });
  it("is the same for the same entries twice", () => {
    const once = received(NOTHING, [entry(0, "note", "a"), entry(1, "note", "b")], 2).loaded;
    expect(received(once, [entry(0, "note", "a"), entry(1, "note", "b")], 2).loaded).toEqual(once);
  });
  it("joins parts that touch, and drops the far end", () => {
    const known = range(100, 50, 500);
    expect(numbers(joined(known, range(60, 40, 500), 60))).toEqual(numbers(range(60, 60, 500)));
    expect(numbers(joined(known, range(150, 50, 500), 60))).toEqual(numbers(range(140, 60, 500)));
    expect(numbers(joined(known, range(300, 10, 500), 60))).toEqual(numbers(range(300, 10, 500)));
  });
});

describe("addresses", () => {
  it("name every view and every message", () => {
    expect(parse("/s/abc", "", "#m12")).toEqual({ view: "session", id: "abc", message: 12, attempt: null, tab: "" });
    expect(parse("/s/abc/changes", "", "")).toMatchObject({ tab: "changes", message: null });
    expect(parse("/f/a%2Fb", "?in=%2Frepo", "")).toEqual({ view: "feature", name: "a/b", repository: "/repo" });
    expect(parse("/%E0%A4%A", "", "")).toEqual({ view: "nowhere" });
    expect(parse("/search", "?q=a+b", "")).toEqual({ view: "search", query: "a b" });
  });
});

describe("plots and timelines", () => {
  const usage = (tokens: number, cost: number | null) => ({ input_tokens: tokens, output_tokens: 0, cached_tokens: 0, cost });
  it("count the newest report of each turn, and add turns up", () => {
    const facts: Fact[] = [
      { fact: "spent", at: 1, attempt: 1, prompt: "p", usage: usage(5, 0.1) },
      { fact: "turn_finished", at: 2, attempt: 1, prompt: "p", usage: usage(10, 0.2), context: 40, window: 100 },
      { fact: "turn_finished", at: 3, attempt: 1, prompt: "q", usage: usage(7, null), context: 60, window: 100 },
    ];
    const found = used(facts);
    expect([found.tokens.values, found.cost.values, found.context.values, found.window]).toEqual([[5, 10, 17], [0.1, 0.2, 0.2], [40, 60], 100]);
  });
  it("show a cut, and when it was back", () => {
    const attempts = [{ number: 1, status: "gone", how: "new", by_us: false, how_ended: "SIGKILL", opened_at: 11 }, { number: 2, status: "ready", how: "load", by_us: false, how_ended: "", opened_at: 31 }];
    const facts: Fact[] = [{ fact: "launch_intended", at: 10, attempt: 1 }, { fact: "exited", at: 20, attempt: 1 }, { fact: "launch_intended", at: 30, attempt: 2 }];
    const found = story(attempts as never, [], facts, 10, 50);
    expect(found.lives).toEqual([{ attempt: 1, from: 10, to: 20, isOpen: false }, { attempt: 2, from: 30, to: 50, isOpen: true }]);
    expect(found.marks.map((one) => [one.kind, one.at])).toEqual([["begun", 10], ["cut", 20], ["back", 30]]);
  });
});

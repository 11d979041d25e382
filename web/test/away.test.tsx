import { describe, expect, it } from "vitest";

import { copyOf, heard, isRecorded, otherHost, pause } from "../src/state/away";
import { received } from "../src/state/conversation";
import type { AwayHost, Entry } from "../src/api/types";

const away = (about: Partial<AwayHost>): AwayHost => ({ host: "a", seen_seconds_ago: 3, may_be_gone: false, takeover: "rekindle fleet takeover x --host-is-gone", ...about });

describe("a session of another host", () => {
  it("is one that names another host than this one, and never on one machine", () => {
    expect(otherHost({ host: "a" }, "b")).toBe("a");
    expect(otherHost({ host: "b" }, "b")).toBeNull();
    expect(otherHost({}, "b")).toBeNull(); // what this host pushes about its own
    expect(otherHost({}, "")).toBeNull();
  });
  it("says when its host was heard of, and never that a silent one is there", () => {
    expect(heard(away({}))).toBe("seen 3 s ago");
    expect(heard(away({ seen_seconds_ago: 75, may_be_gone: true }))).toBe("last seen 1 min 15 s ago");
    expect(heard(away({ seen_seconds_ago: null, may_be_gone: true }))).toBe("never seen");
  });
  it("says in the command line's words what the copy is", () => {
    expect(copyOf("a copy from host a, as of 2 s ago")).toBe("This is a copy from host a, as of 2 s ago.");
    expect(copyOf("")).toBe("");
  });
  it("tells what is recorded from what is done and what is refused", () => {
    expect(["recorded", "not_taken", "placed_elsewhere", ""].map(isRecorded)).toEqual([true, false, false, false]);
  });
  it("is asked for again at a cost that is bounded, however long an answer takes", () => {
    expect(pause(false, 10_000)).toBe(20_000);
    expect(pause(true, 10)).toBe(5_000);
    expect(pause(true, 1_000)).toBe(20_000);
  });
  it("grows entry by entry when it is asked for again from the last one", () => {
    const entry = (n: number, text: string): Entry => ({ n, kind: "said", text, attempt: 1, call: "", at: null, append: false });
    const known = { from: 0, total: 2, entries: [entry(0, "one"), entry(1, "tw")] };
    const { loaded, hasHole } = received(known, [entry(1, "two"), entry(2, "three")], 3);
    expect([loaded.entries.map((one) => one.text), loaded.total, hasHole]).toEqual([["one", "two", "three"], 3, false]);
    expect(received(loaded, [entry(2, "three")], 3).loaded).toEqual(loaded);
  });
});

import { describe, expect, it } from "vitest";

import { looksLikeDiff, parseDiff, sums } from "../src/text/diff";
import { marked } from "../src/text/marks";
import { matches } from "../src/text/matching";
import { bytes, counted, money, percent, short, spending } from "../src/text/numbers";
import { schedule } from "../src/text/schedule";
import { ago, clock, duration, span, until } from "../src/text/time";
import { labels, ruler, type Mark } from "../src/text/timeline";
import { BOX, layout, SMALL_BOX } from "../src/text/waves";
import { isCommand, nameOf, questionKind, spoken, statusLine } from "../src/text/words";
import type { Question, SessionView } from "../src/api/types";

const NOW = new Date(2026, 10, 18, 12, 0, 0).getTime() / 1000;

describe("time words", () => {
  it("says the two largest units", () => {
    expect([0, 59, 60, 192, 3600, 7500, 86400 * 4 + 3 * 3600 + 59].map(duration)).toEqual(["0 s", "59 s", "1 min", "3 min 12 s", "1 h", "2 h 5 min", "4 d 3 h"]);
  });
  it("never counts below zero", () => {
    expect(duration(-5)).toBe("0 s");
    expect(ago(NOW + 10, NOW)).toBe("just now");
  });
  it("says one unit in lists", () => {
    expect([5, 65, 3700, 90000].map(span)).toEqual(["5 s", "1 min", "1 h", "1 d"]);
  });
  it("names the day only if it is another one", () => {
    expect(clock(NOW + 3600, NOW)).toBe("13:00");
    expect(clock(NOW - 86400, NOW)).toBe("Tue 12:00");
    expect(clock(NOW - 10 * 86400, NOW)).toBe("2026-11-08 12:00");
    expect(until(NOW + 720, NOW)).toBe("12:12 (in 12 min)");
    expect(until(NOW - 1, NOW)).toBe("any moment now");
  });
});

describe("numbers", () => {
  it("are short", () => {
    expect([0, 950, 1234, 9_949, 9_950, 64_000, 999_499, 999_500, 12_300_000].map(short)).toEqual(["0", "950", "1.2 k", "9.9 k", "10 k", "64 k", "999 k", "1.0 M", "12.3 M"]);
  });
  it("of money never say more than was reported", () => {
    expect([spending(1.2, 0), spending(1.2, 3), spending(0, 3)]).toEqual(["$1.20 spent", "$1.20 spent, and more that was not reported", "cost unknown"]);
  });
  it("of money never show something as nothing", () => {
    expect([0, 0.004, 0.01, 4.1].map(money)).toEqual(["$0.00", "<$0.01", "$0.01", "$4.10"]);
  });
  it("have their words", () => {
    expect([counted(1, "task"), counted(2000, "task"), percent(48, 100), percent(1, null), bytes(3_200_000_000)]).toEqual(["1 task", "2,000 tasks", "48 %", "", "3.2 GB"]);
  });
});

const DIFF = `diff --git a/login.py b/login.py
index 1..2 100644
--- a/login.py
+++ b/login.py
@@ -1,3 +1,4 @@ def login():
 import os
-old
+new <script>alert(1)</script>
+more
 end
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
---- not a header
diff --git a/a b.txt b/c d.txt
similarity index 100%
rename from a b.txt
rename to c d.txt
diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"
new file mode 100644
--- /dev/null
+++ "b/\\303\\244.txt"
@@ -0,0 +1 @@
+x
\\ No newline at end of file
diff --git a/pic.png b/pic.png
Binary files a/pic.png and b/pic.png differ
`;

describe("diffs", () => {
  it("are taken apart by file", () => {
    const files = parseDiff(DIFF);
    expect(files.map((one) => [one.path, one.state, one.added, one.removed, one.isBinary])).toEqual([
      ["login.py", "changed", 2, 1, false], ["gone.py", "gone", 0, 1, false], ["c d.txt", "moved", 0, 0, false], ["ä.txt", "new", 1, 0, false], ["pic.png", "changed", 0, 0, true],
    ]);
    expect(sums(files)).toEqual({ added: 3, removed: 2 });
  });
  it("have line numbers on both sides", () => {
    const [file] = parseDiff(DIFF);
    expect(file?.lines.slice(1).map((one) => [one.kind, one.before, one.after])).toEqual([["same", 1, 1], ["del", 2, undefined], ["add", undefined, 2], ["add", undefined, 3], ["same", 3, 4]]);
  });
  it("keep a removed line that looks like a header", () => {
    expect(parseDiff(DIFF)[1]?.lines.map((one) => one.text)).toContain("--- not a header");
  });
  it("are recognised, and other text is not", () => {
    expect(looksLikeDiff(DIFF)).toBe(true);
    expect(looksLikeDiff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n")).toBe(true);
    expect(looksLikeDiff("- a list\n+ of things\n")).toBe(false);
    expect(parseDiff("no diff at all")).toEqual([]);
  });
  it("of a plain patch have their path", () => {
    expect(parseDiff("--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-x\n+y\n").map((one) => [one.path, one.added])).toEqual([["x.txt", 1]]);
  });
});

describe("finding", () => {
  it("takes what has all words, beginnings first", () => {
    expect(matches(["relogin", "login form", "logout"], "log", (one) => one)).toEqual(["login form", "logout", "relogin"]);
    expect(matches(["a b", "b c"], "b c", (one) => one)).toEqual(["b c"]);
    expect(matches(["a"], "", (one) => one)).toEqual(["a"]);
  });
  it("marks hits by characters, not by code units", () => {
    expect(marked("😀 deploy it", [[2, 8]])).toEqual([{ text: "😀 ", isHit: false }, { text: "deploy", isHit: true }, { text: " it", isHit: false }]);
    expect(marked("x", [[5, 9]])).toEqual([{ text: "x", isHit: false }]);
  });
});

describe("waves", () => {
  it("are columns, with edges from what a task needs", () => {
    const graph = layout([["a", "b"], ["c"]], ["a", "b", "c", "d"], new Map([["c", ["a"]], ["d", ["nobody"]]]), BOX);
    expect(graph.nodes.map((one) => [one.id, one.wave])).toEqual([["a", 0], ["b", 0], ["c", 1], ["d", 2]]);
    expect(graph.edges.map((one) => `${one.from}-${one.to}`)).toEqual(["a-c"]);
  });
  it("of an empty plan are empty", () => {
    expect(layout([], [], new Map(), BOX)).toEqual({ width: 0, height: 0, nodes: [], edges: [] });
  });
});

describe("a timeline", () => {
  it("keeps the order, and gives a long rest no more than its share", () => {
    const x = ruler([0, 5, 10, 36_000], 1000);
    const places = [0, 5, 10, 36_000].map(x);
    expect(places[0]).toBe(0);
    expect(places[3]).toBeCloseTo(1000);
    expect(places[1]! - places[0]!).toBeGreaterThanOrEqual(18);
    expect(places[2]! - places[1]!).toBeGreaterThanOrEqual(18);
    expect(x(20)).toBeGreaterThan(places[2]!);
    expect(x(99_999)).toBe(1000);
  });
  it("never grows beyond its width", () => {
    const many = Array.from({ length: 200 }, (_, n) => n);
    expect(ruler(many, 300)(199)).toBeCloseTo(300);
    expect(ruler([7], 300)(7)).toBe(0);
  });
  it("has words where there is room for them", () => {
    const marks: Mark[] = [
      { kind: "cut", at: 100, attempt: 1, text: "killed by SIGKILL" }, { kind: "back", at: 110, attempt: 2, text: "brought back" },
      { kind: "back", at: 300, attempt: 3, text: "brought back" }, { kind: "prompt", at: 200, attempt: 2, text: "x" },
    ];
    expect(labels(marks, (at) => at, 800, () => "11:03").map((one) => one.text)).toEqual(["killed", "back 11:03"]);
    expect(labels(marks, () => 10, 800, () => "11:03")).toEqual([]);
  });
});

describe("words", () => {
  it("say common schedules, and leave the others as they are", () => {
    expect(["0 6 * * *", "5 2 * * 1-5", "30 9 * * 1", "15 * * * *", "*/5 * * * *", "0 6 1 * *", "nonsense"].map(schedule)).toEqual([
      "every day at 06:00", "on weekdays at 02:05", "every Monday at 09:30", "every hour at :15", "*/5 * * * *", "0 6 1 * *", "nonsense",
    ]);
  });
  const row = (more: Partial<SessionView>): SessionView => ({ id: "s1", title: "work: Payment form", feature: null, task: null, why: "", waits_until: null, status: "waiting", ...more }) as SessionView;
  it("name a task by its feature", () => {
    expect([nameOf(row({})), nameOf(row({ feature: "checkout", task: "payment" })), nameOf(row({ title: "" }))]).toEqual(["work: Payment form", "checkout / payment", "s1"]);
  });
  it("make the status a sentence", () => {
    expect(statusLine(row({ why: "rate limit reached", waits_until: NOW + 720 }), NOW)).toBe("Rate limit reached · goes on at 12:12 (in 12 min)");
    expect(statusLine(row({}), NOW)).toBe("Waiting for your next prompt");
    expect(spoken("WAITING_FOR_INPUT")).toBe("waiting for input");
  });
  it("say what an agent wants to do", () => {
    const asked = (kind: string, tool: string): Question => ({ kind, tool }) as Question;
    expect([questionKind(asked("permission", "execute")), questionKind(asked("dead", "")), questionKind(asked("permission", "other"))]).toEqual(["run a command", "agent died", "permission"]);
    expect([isCommand(asked("permission", "execute")), isCommand(asked("permission", "edit"))]).toEqual([true, false]);
  });
});

describe("a phone", () => {
  it("has room for two waves", () => {
    expect(layout([["a"], ["b"]], ["a", "b"], new Map(), SMALL_BOX).width).toBeLessThan(326);
  });
});

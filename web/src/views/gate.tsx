/** What somebody sees who has no secret, a wrong one, or a link that was used before. */

import { Command, Trouble } from "../parts/small";
import { connectProblem, type Gate } from "../state/store";
import { Flame } from "../parts/shell";

const WORDS: Record<"no secret" | "wrong secret" | "old link", [string, string]> = {
  "no secret": ["This page needs a link", "It shows what your agents do, and can tell them what to do. So it opens with a link from your terminal, which works once."],
  "wrong secret": ["This tab's secret is no longer valid", "The daemon has another one now: it was started anew with new secrets, or this tab belongs to another daemon. Nothing was lost."],
  "old link": ["This link does not work any more", "A link works once, for a minute."],
};

export function GateView({ gate }: { gate: Exclude<Gate, "open" | "starting"> }) {
  const [title, text] = WORDS[gate];
  return (
    <main class="gate" data-gate={gate}>
      <div style={{ width: "32px" }}><Flame /></div>
      <h1>{title}</h1>
      <p class="muted">{text} Get a new one:</p>
      <Command text="rekindle open" />
      {connectProblem.value !== null && connectProblem.value.status === 0 && <Trouble problem={connectProblem.value} />}
    </main>
  );
}

/** The blocks of a conversation. Each has an address; tool calls are folded. */

import { useSignal } from "@preact/signals";
import { memo } from "preact/compat";

import { toSession } from "../state/router";
import type { Block, TextBlock, ToolBlock } from "../state/conversation";
import { looksLikeDiff, parseDiff, sums } from "../text/diff";
import { Markdown } from "./markdown";
import { Folded, Output } from "./output";

const BY: Record<TextBlock["kind"], string> = {
  prompt: "you", told: "rekindle", said: "", thought: "thinks", plan: "plan", question: "asks", end: "turn", error: "error", attempt: "", note: "note",
};

interface Props { block: Block; session: string; agent: string; isTarget: boolean }

export const BlockView = memo(function BlockView({ block, session, agent, isTarget }: Props) {
  if (block.kind === "attempt") {
    return <div class="divider" id={`m${block.n}`} data-n={block.n} data-attempt={block.attempt}>attempt {block.attempt}</div>;
  }
  const by = block.kind === "tool" ? "" : block.kind === "said" ? agent : BY[block.kind];
  return (
    <div class={`block by-${block.kind}${isTarget ? " target" : ""}`} id={`m${block.n}`} data-n={block.n} data-kind={block.kind}>
      <div class="by"><a href={toSession(session, block.n)} aria-label={`Link to message ${block.n}${by ? ` by ${by}` : ""}`}>{by || "·"}</a></div>
      <div class="what">{block.kind === "tool" ? <Tool block={block} /> : <Text block={block} />}</div>
    </div>
  );
}, (a, b) => isSame(a.block, b.block) && a.isTarget === b.isTarget && a.agent === b.agent);

/** Blocks are made anew whenever something is said; those that did not change are not drawn again. */
function isSame(a: Block, b: Block): boolean {
  if (a.n !== b.n || a.kind !== b.kind || a.attempt !== b.attempt) return false;
  if (a.kind === "tool") return b.kind === "tool" && a.title === b.title && a.state === b.state && a.output === b.output;
  return b.kind !== "tool" && a.text === b.text;
}

function Text({ block }: { block: TextBlock }) {
  switch (block.kind) {
    case "said":
      return <Markdown text={block.text} />;
    case "thought":
    case "told":
      return <Fold text={block.text} />;
    case "plan":
      return <Plan text={block.text} />;
    case "prompt":
      return <Long text={block.text} />;
    case "question":
      return <span>{block.text}</span>;
    default:
      return <span>{block.text}</span>;
  }
}

/** A long prompt is folded after 20 lines. */
function Long({ text }: { text: string }) {
  const all = useSignal(false);
  const lines = text.split("\n");
  if (lines.length <= 24 || all.value) return <>{text}</>;
  return <>{lines.slice(0, 20).join("\n")}{"\n"}<button type="button" class="link small" onClick={() => (all.value = true)}>show all {lines.length} lines</button></>;
}

/** One line that opens. */
function Fold({ text }: { text: string }) {
  const plain = text.trim();
  const first = plain.split("\n", 1)[0] ?? "";
  if (plain === first && first.length < 160) return <span>{plain}</span>;
  return (
    <details>
      <summary class="fold-text">{first.length > 140 ? `${first.slice(0, 139)}…` : first}</summary>
      <Markdown text={plain} />
    </details>
  );
}

function Plan({ text }: { text: string }) {
  const mark: Record<string, string> = { completed: "●", in_progress: "◐", pending: "○" };
  return (
    <ul class="stack" style={{ gap: "2px" }}>
      {text.split("\n").map((line, at) => {
        const [, state = "", what = line] = /^\[([^\]]*)\] (.*)$/.exec(line) ?? [];
        return <li key={at} class={`row top${state === "completed" ? " muted" : ""}`}><span class="tick" aria-label={state}>{mark[state] ?? "○"}</span><span>{what}</span></li>;
      })}
    </ul>
  );
}

const HOW: Record<ToolBlock["state"], string> = { running: "running …", completed: "", failed: "failed", unknown: "outcome unknown" };

function Tool({ block }: { block: ToolBlock }) {
  const open = useSignal(false);
  const files = block.output && looksLikeDiff(block.output) ? sums(parseDiff(block.output)) : null;
  const [first = "", ...more] = block.title.split("\n");
  const lines = block.output ? block.output.replace(/\n$/, "").split("\n").length : 0;
  return (
    <details class={`tool ${block.state}`} data-tool={block.state} open={open.value} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>
        <span class="name clip">{first}</span>
        {files !== null && <span class="numbers"><span class="sum-add">+{files.added}</span> <span class="sum-del">−{files.removed}</span></span>}
        <span class={`how${block.state === "unknown" ? " you" : ""}`}>{HOW[block.state] || (lines > 1 ? `${lines.toLocaleString("en")} lines` : "")}</span>
      </summary>
      {open.value && (
        <div class="output">
          {more.length > 0 && <Folded text={block.title} />}
          {block.output ? <Output text={block.output} /> : <p class="small muted pad">{block.state === "running" ? "Still running." : block.state === "unknown" ? "It was started, and nobody knows how it ended." : "No output."}</p>}
        </div>
      )}
    </details>
  );
}

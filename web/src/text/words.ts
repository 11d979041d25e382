/** The words of the page. They are the command line's: the same in the same order. Pure. */

import type { Question, Receipt, SessionView } from "../api/types";
import { until } from "./time";

/** What a receipt proved. */
export const RECEIPT: Record<Receipt["kind"], string> = {
  same: "the same conversation",
  rebuilt: "a new conversation with the old history",
  fresh: "a fresh start",
  unproven: "not proved to be the same conversation",
};

export const NEEDS_YOU = "Needs you";
export const GONE = "Without an agent";
export const PAUSED = "Paused";
export const WORKING = "Working";
export const AT_REST = "At rest";
export const FINISHED = "Finished";
export const GROUPS = [NEEDS_YOU, GONE, PAUSED, WORKING, AT_REST, FINISHED] as const;
export type Group = (typeof GROUPS)[number];

const OVER = new Set(["completed", "cancelled"]);
const WITHOUT_AGENT = new Set(["interrupted", "dead", "queued", "failed"]);
const BUSY = new Set(["starting", "working", "checking", "asking"]);

/** What a session needs from a person right now, as `rekindle ps` groups it. */
export function groupOf(row: SessionView): Group {
  if (row.needs_you) return NEEDS_YOU;
  if (OVER.has(row.status)) return FINISHED;
  if (WITHOUT_AGENT.has(row.status)) return GONE;
  if (row.why || row.waits_until !== null) return PAUSED;
  return BUSY.has(row.status) ? WORKING : AT_REST;
}

/** Each status in a few words. */
const MEANING: Record<string, string> = {
  starting: "Starting",
  working: "Working",
  checking: "Checking that it is the same conversation",
  asking: "Waiting for your answer",
  paused: "Waiting for a limit to reset, then goes on by itself",
  waiting: "Waiting for your next prompt",
  asleep: "Asleep; a prompt wakes it",
  queued: "A prompt is waiting, and no agent is running",
  interrupted: "Its agent died in the middle of its work",
  dead: "Its agent died while it was idle",
  failed: "Failed",
  completed: "Completed",
  cancelled: "Cancelled",
};

/** The status as a sentence: "Rate limit reached · goes on at 16:20 (in 12 min)". */
export function statusLine(row: SessionView, now: number): string {
  const why = row.why.trim();
  if (row.waits_until !== null && row.waits_until > now) {
    return `${why ? capital(why) : "Waiting"} · goes on at ${until(row.waits_until, now)}`;
  }
  if (why) return capital(why);
  return MEANING[row.status] ?? row.status;
}

/** What a question is about, for a person who has not read how a resume is decided. */
const KINDS: Record<string, string> = {
  dead: "agent died",
  stall: "no progress",
  limit: "limit reached",
  context: "context full",
  case_b: "issues",
  case_c: "no checkpoint",
  skill_resume: "skill session",
  skill_gate: "gate of a skill session",
  skill_approval: "approval in a skill session",
};

/** What an agent wants to do, by the kinds of tools that agents report. */
const TOOLS: Record<string, string> = {
  execute: "run a command",
  edit: "change a file",
  read: "read a file",
  delete: "delete a file",
  move: "move a file",
  search: "search",
  fetch: "open an address",
};

export function questionKind(question: Question): string {
  const kind = KINDS[question.kind] ?? question.kind;
  return question.tool === "" || question.tool === "other" ? kind : (TOOLS[question.tool] ?? question.tool);
}

/** Whether a question is a command to be read letter by letter. */
export function isCommand(question: Question): boolean {
  return question.tool === "execute";
}

/** The name of a session: the task that it works on, else the first line of its prompt. */
export function nameOf(row: SessionView): string {
  return row.feature && row.task ? `${row.feature} / ${row.task}` : row.title || row.id;
}

/** `WAITING_FOR_INPUT` as a person says it. */
export function spoken(code: string): string {
  return code.toLowerCase().replaceAll("_", " ");
}

/** Whose a question is that belongs to no session and no feature: a skill session's is its folder's. */
export function whoseElse(question: Question): string {
  return question.repository ? shortPath(question.repository) : "All sessions";
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The first line of a prompt. */
export function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}

/** A folder as people write it: the end says most. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

/** A task of a run that is over, and that nobody works on any more: it was left in the middle. */
export function stateIn(isOver: boolean, state: string): string {
  return isOver && ["busy", "asks"].includes(taskShape(state)) ? "interrupted" : state;
}

/** How a task of a feature stands, as one of five shapes. */
export type TaskShape = "done" | "busy" | "asks" | "bad" | "left" | "todo";

export function taskShape(state: string): TaskShape {
  switch (state) {
    case "merged":
    case "unchanged":
      return "done";
    case "working":
    case "checking":
    case "checked":
    case "in progress":
    case "to be mended":
      return "busy";
    case "asking":
      return "asks";
    case "failed":
    case "stuck":
      return "bad";
    case "skipped":
    case "interrupted":
    case "stopped":
      return "left";
    default:
      return "todo";
  }
}

/** A feature as the graph needs it: from its run, or, where none is under way, from what its journal says. Pure. */

import type { FeatureDetail, RunView, TaskView } from "../api/types";

const STATES: Record<string, string> = { PENDING: "pending", IN_PROGRESS: "in progress", COMPLETE: "merged", FAILED: "failed", SKIPPED: "skipped" };

type Fields = Record<string, unknown>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === "string" ? value : typeof value === "number" ? String(value) : "");

/** Which tasks each task waits for, as its plan says. */
export function needsOf(detail: FeatureDetail): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const one of list(fields(detail.analysis["plan"])["dependencies"])) {
    const { task_id, blocked_by } = fields(one);
    const before = Array.isArray(blocked_by) ? blocked_by.map(text) : [text(blocked_by)];
    found.set(text(task_id), [...(found.get(text(task_id)) ?? []), ...before.filter(Boolean)]);
  }
  return found;
}

export function runOf(detail: FeatureDetail): RunView {
  if (detail.run !== null) return detail.run;
  const journal = detail.analysis;
  const plan = fields(journal["plan"]);
  const details = fields(journal["task_details"]);
  const tasks: TaskView[] = Object.entries(fields(journal["tasks"])).map(([id, state]) => {
    const planned = list(plan["tasks"]).map(fields).find((one) => text(one["id"]) === id) ?? {};
    const known = fields(details[id]);
    return {
      id, summary: text(known["summary"]) || text(planned["summary"]), state: STATES[text(state)] ?? text(state),
      problem: text(known["error"]), round: null, session: null, agent: null, seconds: 0, tokens: 0, cost: null, receipts: [], left_out: [],
    };
  });
  const waves = list(plan["waves"]).map((one) => list(fields(one)["task_ids"] ?? one).map(text));
  const runs = list(journal["runs"]).map(fields);
  const last = runs[runs.length - 1] ?? {};
  return {
    feature: detail.feature, branch: text(last["branch"]), sid: text(journal["sid"]), mode: text(last["mode"]), over: true,
    reason: last["ended"] === true ? text(last["end_reason"]) : journal["interrupted"] === true ? "interrupted" : null, message: "",
    waves, tasks, seconds: null, tokens: null, cost: null, leftovers: [],
  };
}

export interface Choice { key: string; title: string; effect: string }

/** What the journal asks before a resume: the case, and the options of its question. */
export function decisionOf(detail: FeatureDetail): { case: string; options: Choice[]; issues: string[] } {
  const options = list(detail.analysis["options"]).map(fields).map((one) => ({ key: text(one["key"]), title: text(one["title"]), effect: text(one["effect"]) }));
  const issues = list(detail.analysis["issues"]).map(fields).map((one) => [text(one["task"]), text(one["message"])].filter(Boolean).join(": "));
  return { case: text(fields(detail.analysis["decision"])["case"]), options, issues };
}

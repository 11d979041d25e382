/**
 * What the whole page knows: all sessions, the inbox, the connection. One place asks and listens; views only read.
 *
 * A state is shown only if the daemon has said it. While nobody answers, the last one stays and says how old it is.
 */

import { batch, computed, signal } from "@preact/signals";

import { asProblem, change, get, Problem } from "../api/client";
import { forgetSecret, keepSecret, secret, takeCode } from "../api/secret";
import { Socket, type Frame } from "../api/socket";
import type { Fact, GovernorView, InboxAnswer, Me, Paired, Question, SessionsAnswer, SessionView } from "../api/types";
import { pause } from "./away";
import { answered, pushed, type Live } from "./live";

export type Gate = "starting" | "open" | "no secret" | "wrong secret" | "old link";

export const gate = signal<Gate>("starting");
export const me = signal<Me | null>(null);
export const live = signal<Live | null>(null);
/** This host's name in its fleet; empty: there is none. */
export const host = signal("");
export const governor = signal<GovernorView | null>(null);
export const inbox = signal<{ questions: Question[]; parked: SessionView[] } | null>(null);
/** Whether what is shown is confirmed; else since when it is not. */
export const isLive = signal(false);
export const asOf = signal<number | null>(null);
export const connectProblem = signal<Problem | null>(null);
/** The daemon's time, which ticks. */
export const now = signal(Date.now() / 1000);

export const sessions = computed(() => live.value?.sessions ?? null);
export const openQuestions = computed(() => inbox.value?.questions.length ?? 0);
export const needs = computed(() => (inbox.value === null ? 0 : inbox.value.questions.length + inbox.value.parked.length));
export const readOnly = computed(() => me.value?.read_only ?? false);

/** What one session's view wants to hear of. */
export interface SessionEars {
  id: string;
  fact(seq: number, fact: Fact | null): void;
  message(payload: Record<string, unknown>): void;
  reconnected(): void;
}

let offset = 0;
let connection = 0;
const ears = new Set<SessionEars>();

const socket = new Socket({ opened, closed, pushed: heard });

/** Take the code out of the link or the secret of this tab, and begin. */
export async function begin(): Promise<void> {
  const code = takeCode();
  if (code !== null) {
    try {
      const told = await change<Paired>("POST", "/pair", { code });
      keepSecret(told.secret);
    } catch (error) {
      if (secret() === null) {
        connectProblem.value = asProblem(error);
        gate.value = asProblem(error).status === 0 ? "no secret" : "old link";
        return;
      }
    }
  }
  if (secret() === null) {
    gate.value = "no secret";
    return;
  }
  gate.value = "open";
  socket.connect();
  setInterval(() => tick(), 1000);
  setTimeout(() => void keepFresh(), pause(false, 0));
}

/** What other hosts do is not pushed, nor is what spans sessions: it is asked for, and never without a rest. */
async function keepFresh(): Promise<void> {
  const began = Date.now();
  if (isLive.value && document.visibilityState === "visible") await refresh();
  setTimeout(() => void keepFresh(), pause(host.value !== "", Date.now() - began));
}

function tick(): void {
  if (document.visibilityState === "visible") now.value = Date.now() / 1000 + offset;
}

function opened(): void {
  const mine = (connection += 1);
  void confirmed(mine);
}

/** First the whole answer, then everything after its place: nothing is missed, and nothing counts twice. */
async function confirmed(mine: number): Promise<void> {
  try {
    const before = live.value;
    if (me.value === null) me.value = await get<Me>("/me");
    if (before === null) await fetchAll(mine);
    if (mine !== connection || live.value === null) return;
    subscribe(live.value.seq);
    if (before !== null) await fetchAll(mine);
    if (mine !== connection) return;
    batch(() => {
      isLive.value = true;
      asOf.value = null;
      connectProblem.value = null;
    });
    for (const one of ears) one.reconnected();
  } catch (error) {
    const problem = asProblem(error);
    connectProblem.value = problem;
    if (problem.status === 401) closed(true);
    else setTimeout(() => { if (mine === connection) void confirmed(mine); }, 1000);
  }
}

/** Everything after a place. Where that is too far back, the whole answer counts, and everything after it. */
function subscribe(after: number): void {
  socket.ask("subscribe", { after, messages: "watched" }, (frame) => {
    if (frame["reset"] !== true) return;
    live.value = null;
    void fetchAll(connection).then(() => {
      for (const one of ears) one.reconnected();
    }, () => undefined);
  });
}

async function fetchAll(mine: number): Promise<void> {
  const [all, asked] = await Promise.all([get<SessionsAnswer>("/sessions"), get<InboxAnswer>("/inbox")]);
  if (mine !== connection) return;
  batch(() => {
    offset = all.now - Date.now() / 1000;
    now.value = all.now;
    live.value = answered(live.value, all.seq, all.sessions);
    governor.value = all.governor;
    host.value = all.host;
    inbox.value = { questions: asked.questions, parked: asked.parked };
  });
}

function closed(refused: boolean): void {
  connection += 1;
  batch(() => {
    if (isLive.value) asOf.value = now.value;
    isLive.value = false;
    if (refused) {
      forgetSecret();
      gate.value = "wrong secret";
    }
  });
}

function heard(frame: Frame): void {
  const payload = frame.payload ?? {};
  const id = typeof payload["session"] === "string" ? payload["session"] : "";
  if (frame.event === "task.session.message") {
    for (const one of ears) if (one.id === id) one.message(payload);
    return;
  }
  if (frame.seq === undefined || live.value === null) return;
  const view = (payload["view"] ?? null) as SessionView | null;
  const before = live.value;
  const isNew = frame.seq > before.seq;
  live.value = pushed(before, { seq: frame.seq, more: frame.more === true, session: id, view });
  if (isNew) for (const one of ears) if (one.id === id) one.fact(frame.seq, (payload["fact"] ?? null) as Fact | null);
  const was = before.sessions.get(id);
  if (frame.event === "task.session.question" || view === null || was === undefined || concerns(was) !== concerns(view)) {
    soonAskInbox();
  }
}

/** What of a session is in the inbox. */
function concerns(view: SessionView): string {
  return `${view.needs_you} ${view.question?.id ?? ""} ${view.why}`;
}

let asking = 0;
function soonAskInbox(): void {
  clearTimeout(asking);
  asking = window.setTimeout(() => void askInbox(), 60);
}

export async function askInbox(): Promise<void> {
  try {
    const told = await get<InboxAnswer>("/inbox");
    inbox.value = { questions: told.questions, parked: told.parked };
  } catch {
    // the connection says so itself
  }
}

/** Everything again: what spans sessions has no events of its own. */
export async function refresh(): Promise<void> {
  try {
    await fetchAll(connection);
  } catch {
    // the connection says so itself
  }
}

export function listen(one: SessionEars): () => void {
  ears.add(one);
  return () => ears.delete(one);
}

export function watch(session: string, from: number): void {
  socket.ask("task.session.watch", { session, from });
}

export function unwatch(session: string): void {
  socket.ask("task.session.unwatch", { session });
}

/** A session: its life on a line, what its last resume proved, the conversation, and what it changed and used. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { asProblem, change, type Problem } from "../api/client";
import type { SessionOpened, SessionView, WholeSession } from "../api/types";
import { AwayNote, OnlyThere } from "../parts/away";
import { Changes } from "../parts/changes";
import { Composer } from "../parts/composer";
import { cutsOf, Plot } from "../parts/plot";
import { QuestionCard } from "../parts/question";
import { BackBanner, ReceiptLine } from "../parts/receipt";
import { Record } from "../parts/record";
import { Clock, Copy, Id, Section, Skeleton, Trouble } from "../parts/small";
import { Stream } from "../parts/stream";
import { Timeline } from "../parts/timeline";
import { otherHost } from "../state/away";
import { isAtEnd } from "../state/conversation";
import { onResume } from "../state/keys";
import { go, toFeature, toSession } from "../state/router";
import { SessionStore } from "../state/session";
import { host, inbox, isLive, now, readOnly, sessions } from "../state/store";
import { money, percent, short } from "../text/numbers";
import { used } from "../text/series";
import { nameOf, RECEIPT, shortPath, spoken, statusLine } from "../text/words";

const TABS: readonly [string, string][] = [["", "Conversation"], ["changes", "Changes"], ["record", "Record"], ["about", "About"]];

export function SessionPage({ id, message, attempt, tab }: { id: string; message: number | null; attempt: number | null; tab: string }) {
  const store = useMemo(() => new SessionStore(id), [id]);
  const opening = useSignal<SessionOpened | null>(null);
  const openProblem = useSignal<Problem | null>(null);
  useEffect(() => {
    void store.open(message);
    return () => store.close();
  }, [store]);
  const isThere = isLive.value;
  const canOpen = isThere && !readOnly.value;
  // Opening a session does what its policy says; the server removes duplicates.
  useEffect(() => {
    if (!canOpen) return;
    change<SessionOpened>("POST", `/sessions/${id}/open`).then((told) => (opening.value = told), (error: unknown) => (openProblem.value = asProblem(error)));
  }, [id, canOpen]);

  useEffect(() => {
    const there = attempt === null ? undefined : store.attempts.value.find((one) => one.attempt === attempt);
    if (there !== undefined) go(toSession(id, there.n), true);
  }, [attempt, store.isLoaded.value]);

  const whole = store.whole.value;
  const away = whole?.away;
  const listed = sessions.value?.get(whole?.id ?? id);
  const row: SessionView | null = away !== undefined ? whole : (listed ?? whole);
  const hasLeft = whole !== null && away === undefined && listed !== undefined && otherHost(listed, host.value) !== null;
  useEffect(() => {
    if (hasLeft) void store.open(null);
  }, [hasLeft]);
  useEffect(() => {
    onResume.value = row !== null && canResume(row) ? () => void resume(store, row) : null;
    return () => { onResume.value = null; };
  }, [row?.status, row?.needs_resume, readOnly.value]);

  if (whole === null || row === null) {
    return store.problem.value !== null ? <Trouble problem={store.problem.value} retry={() => void store.open(message)} /> : <><h1 class="hidden-text">Session</h1><Skeleton lines={2} /><div style={{ height: "16px" }} /><Skeleton lines={6} /></>;
  }
  const goTo = (attempt: number): void => {
    const there = store.attempts.value.find((one) => one.attempt === attempt);
    go(toSession(row.id, there?.n ?? 0));
  };
  const asked = (inbox.value?.questions ?? []).filter((one) => one.session === row.id);
  const isOver = !row.is_running;
  return (
    <div class="session" data-tab={tab}>
      <Head store={store} row={row} whole={whole} opened={opening.value} problem={openProblem.value} isAsking={asked.length > 0} />
      <Timeline whole={whole} facts={store.facts.value} goTo={goTo} />
      <div class="main-column">
        {away !== undefined && <AwayNote store={store} away={away} />}
        <div class="tabs" role="tablist" aria-label="Session">
          {TABS.map(([path, name]) => <button key={path} type="button" role="tab" id={`tab-${path || "talk"}`} class={path === "about" ? "narrow-only" : ""} aria-selected={tab === path} onClick={() => go(`/s/${row.id}${path ? `/${path}` : ""}`)}>{name}</button>)}
        </div>
        {tab === "changes" && away !== undefined ? <OnlyThere away={away} what="Its files and snapshots are" command={`rekindle diff ${row.id}`} />
          : tab === "record" && away !== undefined ? <OnlyThere away={away} what="Its record is read" command="rekindle open" />
          : tab === "changes" ? <Changes row={row} /> : tab === "record" ? <Record facts={store.facts.value} /> : tab === "about" ? null : (
          <>
            <BackBanner whole={{ ...whole, receipt_may_change: row.receipt_may_change }} goTo={goTo} />
            {!store.isLoaded.value ? <Skeleton lines={6} /> : <Stream store={store} target={message} agent={row.agent} isOver={isOver && isAtEnd(store.loaded.value)} isAsking={asked.length > 0} />}
            {asked.map((one) => <QuestionCard key={one.id} question={one} isHere />)}
            <Composer store={store} whole={whole} />
          </>
        )}
      </div>
      <Side store={store} whole={whole} row={row} />
    </div>
  );
}

function canResume(row: SessionView): boolean {
  if (readOnly.value || row.state === "COMPLETED") return false;
  return row.next.startsWith(`rekindle resume ${row.id}`) || (!row.is_running && (row.needs_resume || ["interrupted", "dead", "failed", "cancelled", "queued"].includes(row.status)));
}

async function resume(store: SessionStore, row: SessionView): Promise<void> {
  await store.ask("resume", {}, row.is_running ? "It goes on." : "It is coming back.");
}

/** What is pressed to bring it back: a held agent goes on, a dead one is resumed. */
function resumeWord(row: SessionView): string {
  return row.is_running ? "Go on" : row.status === "interrupted" ? "Resume and go on" : "Resume";
}

function tone(row: SessionView): string {
  const isBad = ["interrupted", "dead", "failed"].includes(row.status);
  return isBad ? "bad" : row.needs_you ? "you" : "muted";
}

/** Its name and state, where the head is scrolled away: a conversation opens at its end. */
function Bar({ store, row, head }: { store: SessionStore; row: SessionView; head: { current: HTMLElement | null } }) {
  const isShown = useSignal(false);
  useEffect(() => {
    if (head.current === null) return undefined;
    const eye = new IntersectionObserver((found) => (isShown.value = found.some((one) => !one.isIntersecting)), { rootMargin: "-56px 0px 0px 0px" });
    eye.observe(head.current);
    return () => eye.disconnect();
  }, []);
  if (!isShown.value) return null;
  return (
    <div class="session-bar" data-bar>
      <div class="session-bar-inner">
        <button type="button" class="link to-top clip" title="To the beginning of the page" onClick={() => scrollTo(0, 0)}><strong>{nameOf(row)}</strong></button>
        <span class={`small clip ${tone(row)}`}>{statusLine(row, now.value)}</span>
        {row.receipt !== null && row.attempt > 1 && <span class={`small nowrap proof ${row.receipt.kind === "same" ? "faint" : "you"}`}>{RECEIPT[row.receipt.kind]}</span>}
        {canResume(row) && <button type="button" class="button small main" onClick={() => void resume(store, row)}>{resumeWord(row)}</button>}
      </div>
    </div>
  );
}

function Head({ store, row, whole, opened, problem, isAsking }: { store: SessionStore; row: SessionView; whole: WholeSession; opened: SessionOpened | null; problem: Problem | null; isAsking: boolean }) {
  const head = useRef<HTMLElement>(null);
  const doing = (path: string, done: string, body?: unknown) => () => void store.ask(path, body, done);
  const away = whole.away;
  const canHold = row.waits_until !== null || (row.is_running && whole.session.on_hold === "");
  return (
    <>
    <Bar store={store} row={row} head={head} />
    <header class="session-head" ref={head}>
      <h1>{row.title || row.id}</h1>
      <div class="facts">
        <span>{row.agent}{row.model && row.model !== "default" ? ` · ${row.model}` : ""}</span>
        {away !== undefined && <span class="on-host">on host {away.host}</span>}
        {row.feature && (away === undefined ? <a href={toFeature(row.feature, row.repository ?? "")}>{row.feature}{row.task ? ` / ${row.task}` : ""}</a> : <span>{row.feature}{row.task ? ` / ${row.task}` : ""}</span>)}
        {row.branch && <span class="mono small">{row.branch}</span>}
        <span title={row.cwd} class="row" style={{ gap: "2px" }}>{shortPath(row.cwd)}<Copy text={row.cwd} what="Copy the folder" /></span>
        <span>{row.attempt} {row.attempt === 1 ? "attempt" : "attempts"}</span>
        {whole.session.fork_of && <span>a copy of <a href={toSession(whole.session.fork_of)}>{whole.session.fork_of}</a></span>}
        <Id id={row.id} />
      </div>
      <div class="state" role="status">
        <span class={tone(row)} data-status={row.status}>{isAsking && row.status === "asking" ? "Waiting for your answer" : statusLine(row, now.value)}</span>
        {away !== undefined && row.status !== "unknown" && <span class="small faint">as host {away.host} told</span>}
        {!readOnly.value && (
          <span class="row wrap">
            {canResume(row) && <button type="button" class="button small main" onClick={() => void resume(store, row)}>{resumeWord(row)}</button>}
            {row.waits_until !== null && <button type="button" class="button small" onClick={doing("hurry", "It goes on now.")}>Go on now</button>}
            {canHold && <button type="button" class="button small" onClick={doing("hold", "On hold until you resume it.")}>Hold</button>}
            {row.is_running && row.turn_since !== null && <button type="button" class="button small" onClick={doing("cancel", "The turn is being ended.")}>End the turn</button>}
            {row.is_running && <button type="button" class="button small quiet" onClick={doing("stop", "The agent is asleep; a prompt wakes it.", { to: "asleep" })}>Stop</button>}
          </span>
        )}
      </div>
      {opened !== null && opened.did === "nothing" && row.needs_resume && !row.is_running && opened.why && <p class="small muted">{opened.why}</p>}
      {problem !== null && <Trouble problem={problem} />}
      {row.notices.slice(-2).map((one, at) => <p key={at} class="small muted">{one}</p>)}
    </header>
    </>
  );
}

function Side({ store, whole, row }: { store: SessionStore; whole: WholeSession; row: SessionView }) {
  const facts = store.facts.value;
  const amounts = useMemo(() => used(facts), [facts]);
  const cuts = useMemo(() => cutsOf(facts), [facts]);
  const context = amounts.context.values[amounts.context.values.length - 1];
  const tokens = Math.max(row.usage.tokens, amounts.tokens.values[amounts.tokens.values.length - 1] ?? 0);
  const receipts = whole.session.attempts.filter((one) => one.receipt !== null);
  return (
    <aside class="side" aria-label="About this session" tabIndex={0}>
      <Section title="Used">
        {context !== undefined && <Plot title="Context" value={`${short(context)}${amounts.window ? ` · ${percent(context, amounts.window)}` : ""}`} series={amounts.context} cuts={cuts} most={amounts.window} />}
        <Plot title="Tokens" value={tokens > 0 ? short(tokens) : "not reported"} series={amounts.tokens} cuts={cuts} />
        <Plot title="Cost" value={row.usage.cost !== null ? money(row.usage.cost) : "not reported"} series={amounts.cost} cuts={cuts} isSteps />
      </Section>
      <Section title="Receipts" count={receipts.length}>
        {receipts.length === 0 ? <p class="small faint">{row.attempt > 1 ? "None yet. A receipt is written once its agent is back." : "None. It was never interrupted."}</p> : (
          <ul class="stack small">
            {receipts.map((one) => one.receipt !== null && (
              <li key={one.number}><span class="faint">attempt {one.number}{one.opened_at ? <>, <Clock at={one.opened_at} /></> : ""}</span><div><ReceiptLine receipt={one.receipt} /></div></li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Session">
        <dl class="pairs">
          <dt>started</dt><dd><Clock at={row.created_at} /></dd>
          <dt>last event</dt><dd><Clock at={row.changed_at} /></dd>
          <dt>state</dt><dd>{spoken(row.state)}</dd>
          <dt>task</dt><dd>{spoken(row.task_state)}</dd>
          {row.pid !== null && (<><dt>pid</dt><dd class="numbers">{row.pid}{whole.away !== undefined ? ` on host ${whole.away.host}` : ""}</dd></>)}
          {whole.session.rules_source && (<><dt>rules</dt><dd>{whole.session.rules_source}</dd></>)}
          <dt>terminal</dt>{whole.away !== undefined && row.terminal ? <dd>on host {whole.away.host} only</dd> : <dd class="row"><code class="clip">rekindle attach {row.id}</code><Copy text={`rekindle attach ${row.id}`} /></dd>}
        </dl>
      </Section>
    </aside>
  );
}

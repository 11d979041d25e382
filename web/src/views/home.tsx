/** Home: what needs you first, then what works, waits and was interrupted, features, and the last night. */

import type { FeatureDetail, KnownFeatures, MorningReport, Question, SessionView } from "../api/types";
import { OnHost } from "../parts/away";
import { Asked, QuestionCard } from "../parts/question";
import { SessionLines } from "../parts/rows";
import { Ago, Command, Section, Skeleton } from "../parts/small";
import { Dots, Waves } from "../parts/waves";
import { useFetched } from "../state/fetched";
import { needsOf, runOf } from "../state/features";
import { newestFirst } from "../state/live";
import { isPhone } from "../state/media";
import { toFeature, toQuestion, toSession } from "../state/router";
import { governor, inbox, needs, now, readOnly, sessions } from "../state/store";
import { act } from "../state/toasts";
import { duration } from "../text/time";
import { money, spending } from "../text/numbers";
import { AT_REST, capital, FINISHED, GONE, groupOf, nameOf, PAUSED, questionKind, whoseElse, WORKING, type Group } from "../text/words";

export function Home() {
  const all = sessions.value;
  const asked = inbox.value;
  if (all === null || asked === null) return <><h1 class="hidden-text">Home</h1><Section title="Needs you"><Skeleton /></Section><Section title="Working"><Skeleton lines={4} /></Section></>;
  if (all.size === 0 && asked.questions.length === 0) return <First />;
  const parked = new Set(asked.parked.map((one) => one.id));
  const inQuestions = new Set(asked.questions.map((one) => one.session));
  const of = (...groups: Group[]): SessionView[] => newestFirst(all.values()).filter((one) => groups.includes(groupOf(one)));
  const needing = newestFirst(all.values()).filter((one) => one.needs_you && !parked.has(one.id) && !inQuestions.has(one.id));
  const gone = [...needing, ...of(GONE)];
  return (
    <>
      <h1 class="hidden-text">Home</h1>
      <Section title="Needs you" count={needs.value} isYou>
        {asked.questions.map((one) => isPhone.value ? <QuestionTap key={one.id} question={one} /> : <QuestionCard key={one.id} question={one} />)}
        {asked.parked.map((one) => <Parked key={one.id} row={one} />)}
        {needs.value === 0 && <div class="card calm-note"><span class="tick" aria-hidden="true">✓</span><span>Nothing needs you.</span></div>}
      </Section>
      <div class="columns">
        <Group title="Working" rows={of(WORKING)} none="No agent is at work." />
        <Group title="Waiting" rows={of(PAUSED)} none="No agent is waiting for a limit." />
        <Group title="Interrupted" rows={gone} none={needs.value > 0 ? "Nothing else was interrupted." : "Nothing was interrupted."} />
      </div>
      <Features />
      <Night />
      <Cap />
      <Rest rows={of(AT_REST, FINISHED)} />
    </>
  );
}

function Group({ title, rows, none }: { title: string; rows: readonly SessionView[]; none: string }) {
  return <Section title={title} count={rows.length}>{rows.length > 0 ? <SessionLines rows={rows.slice(0, 8)} /> : <p class="small faint">{none}</p>}{rows.length > 8 && <p class="small"><a href="/sessions">all {rows.length}</a></p>}</Section>;
}

/** A session that stopped without asking a question. */
function Parked({ row }: { row: SessionView }) {
  const isBad = row.status === "failed" || row.status === "interrupted" || row.status === "dead";
  const isResume = row.next.startsWith("rekindle resume");
  return (
    <article class={`ask${isBad ? " failed" : ""}`} data-item data-parked={row.id} tabIndex={-1} aria-label={`Needs you: ${row.title}`}>
      <div class="who"><a class="whose" href={toSession(row.id)}>{nameOf(row)}</a><span class="agent">{row.agent}</span><OnHost row={row} /><span class={`tag${isBad ? " bad" : ""}`}>{row.status}</span><span class="when"><Ago at={row.changed_at} /></span></div>
      <div class="title">{capital(row.why)}</div>
      {row.next.startsWith("rekindle fleet takeover") && <><div class="small muted">If that host is gone, continue it here:</div><Command text={row.next} /></>}
      <div class="options">
        {isResume && !readOnly.value && <button type="button" class="button" onClick={() => void act("POST", `/sessions/${row.id}/resume`, {}, "It is coming back.")}>Resume</button>}
        <a class={`button${isResume ? " quiet" : ""}`} href={toSession(row.id)}>Open session</a>
        {!readOnly.value && row.is_running && <button type="button" class="button quiet" onClick={() => void act("POST", `/sessions/${row.id}/hold`, undefined, "On hold.")}>Hold</button>}
      </div>
    </article>
  );
}

/** On a phone a tap opens the question, which then fills the screen. */
function QuestionTap({ question }: { question: Question }) {
  const session = sessions.value?.get(question.session ?? "");
  return (
    <a class="ask plain tap" href={toQuestion(question.id)} data-item data-question-tap={question.id}>
      <span class="who"><span class="whose">{session !== undefined ? nameOf(session) : (question.feature ?? whoseElse(question))}</span><OnHost row={question} /><span class="tag">{questionKind(question)}</span><span class="when"><Ago at={question.asked_at} /></span></span>
      <Asked question={question} />
    </a>
  );
}

/** Today's cost against the cap. */
function Cap() {
  const spending = governor.value?.spending ?? [];
  const capped = spending.filter((one) => one.limit !== null);
  if (capped.length === 0) return null;
  return (
    <section class="section row wrap small muted" aria-label="Spending" style={{ gap: "8px 24px" }}>
      {capped.map((one) => {
        const share = one.limit ? Math.min(1, one.spent / one.limit) : 0;
        return (
          <span key={one.name} class="row numbers">
            <span>{one.name === "day" ? "Today" : capital(one.name)}: {money(one.spent)} of {money(one.limit ?? 0)}</span>
            <span class="meter" role="img" aria-label={`${Math.round(share * 100)} % of the cap`}><i class={share > 0.8 ? "you" : ""} style={{ width: `${share * 100}%` }} /></span>
          </span>
        );
      })}
    </section>
  );
}

function Features() {
  const found = useFetched<KnownFeatures>("/features", {}, 10);
  const open = (found.data.value?.features ?? []).filter((one) => one.state === "running" || one.state === "open");
  const recent = (found.data.value?.features ?? []).filter((one) => one.state === "ended" && one.last_ts !== null && now.value - Date.parse(one.last_ts) / 1000 < 86400);
  const shown = [...open, ...recent].slice(0, 4);
  if (shown.length === 0) return null;
  return (
    <Section title="Features" count={shown.length} more={<a href="/f">all features</a>}>
      <div class="stack">{shown.map((one) => <FeatureCard key={`${one.repository} ${one.feature}`} name={one.feature} repository={one.repository} />)}</div>
    </Section>
  );
}

export function FeatureCard({ name, repository }: { name: string; repository: string }) {
  const found = useFetched<FeatureDetail>(`/features/${encodeURIComponent(name)}`, { repository }, 2);
  const detail = found.data.value;
  if (detail === null) return <Skeleton lines={2} />;
  const run = runOf(detail);
  const wave = run.waves.findIndex((tasks) => tasks.some((id) => !["merged", "unchanged", "skipped"].includes(run.tasks.find((one) => one.id === id)?.state ?? "")));
  return (
    <div class="card pad stack">
      <div class="row wrap"><h3><a class="plain" href={toFeature(name, repository)} data-item>{name}</a></h3><Dots run={run} />{wave >= 0 && run.waves.length > 0 && <span class="small muted">wave {wave + 1} of {run.waves.length}</span>}{run.over && run.reason && <span class={`tag${run.reason === "completed" ? "" : " you"}`}>{run.reason}</span>}</div>
      {run.tasks.length > 0 && <Waves run={run} needs={needsOf(detail)} />}
    </div>
  );
}

/** What happened since yesterday, in one line. */
function Night() {
  const found = useFetched<MorningReport>("/report", { since: "24h" }, 60);
  const report = found.data.value;
  if (report === null || report.lines.length === 0) return null;
  const n = (kind: string): number => report.totals.counts[kind] ?? 0;
  const same = report.totals.receipts["same"] ?? 0;
  return (
    <Section title="Last 24 hours" more={<a href="/report">full report</a>}>
      <div class="card pad night">
        <span><b>{n("done")}</b> finished</span>
        <span><b>{n("failed")}</b> failed</span>
        <span><b>{n("cut")}</b> cut off</span>
        <span><b>{n("resumed")}</b> resumed{n("resumed") > 0 ? same === n("resumed") ? " (same conversation)" : ` (${same} in the same conversation)` : ""}</span>
        {report.totals.waited_seconds > 0 && <span><b>{duration(report.totals.waited_seconds)}</b> waited</span>}
        <span>{spending(report.totals.cost, report.totals.unpriced)}</span>
      </div>
    </Section>
  );
}

function Rest({ rows }: { rows: readonly SessionView[] }) {
  if (rows.length === 0) return null;
  return <Section title="At rest and finished" count={rows.length} more={<a href="/sessions">all sessions</a>}><SessionLines rows={rows.slice(0, 6)} /></Section>;
}

function First() {
  return (
    <div class="stack wide" style={{ maxWidth: "560px" }}>
      <h1>No agents yet</h1>
      <p class="muted">Start one in a terminal, in the folder that it should work in. It shows up here, and no interruption loses its work.</p>
      <Command text={'rekindle run --agent claude "Add a login form, with tests"'} />
      <p class="muted">Or try it without an account. The scripted agent comes with rekindle and does what the lines of its prompt say:</p>
      <Command text={'rekindle run --agent scripted --detach "stream 200 0.5 thinking"'} />
    </div>
  );
}

/** The report: what happened, and what proves each line. */

import type { Cited, MorningReport, ReportLine } from "../api/types";
import { Clock, Empty, Section, Skeleton, Trouble } from "../parts/small";
import { useFetched } from "../state/fetched";
import { go, toFeature, toJob, toSession } from "../state/router";
import { placeOn } from "../text/timeline";
import { counted, money, short } from "../text/numbers";
import { clock, duration } from "../text/time";
import { capital } from "../text/words";

const SPANS: readonly [string, string][] = [["8h", "8 hours"], ["24h", "24 hours"], ["7d", "7 days"]];
const TITLES: readonly [string, string][] = [
  ["open", "Open"], ["failed", "Failed"], ["cut", "Cut off"], ["resumed", "Resumed"], ["done", "Done"], ["waited", "Waited"], ["asked", "Asked and answered"], ["next", "What comes next"],
];

export function Report({ since }: { since: string }) {
  const asked = since || "24h";
  const found = useFetched<MorningReport>("/report", { since: asked }, 30);
  const report = found.data.value;
  return (
    <>
      <div class="page-head">
        <h1>Report</h1>
        <div class="filters" role="group" aria-label="Period">{SPANS.map(([value, name]) => <button key={value} type="button" aria-pressed={asked === value} onClick={() => go(`/report?since=${value}`)}>last {name}</button>)}</div>
      </div>
      {found.problem.value !== null && <Trouble problem={found.problem.value} retry={found.again} />}
      {report === null ? found.problem.value === null && <Skeleton lines={6} /> : report.lines.length === 0 ? <Empty>Nothing happened in this period.</Empty> : <Body report={report} />}
    </>
  );
}

function Body({ report }: { report: MorningReport }) {
  const { totals } = report;
  const n = (kind: string): number => totals.counts[kind] ?? 0;
  return (
    <>
      <div class="totals">
        <div><b>{n("done")}</b><span>done</span></div>
        <div><b class={n("failed") > 0 ? "bad" : ""}>{n("failed")}</b><span>failed</span></div>
        <div><b>{n("cut")}</b><span>cut off</span></div>
        <div><b>{totals.receipts["same"] ?? 0} of {n("resumed")}</b><span>resumed in the same conversation</span></div>
        <div><b class={totals.needs_you > 0 ? "you" : ""}>{totals.needs_you}</b><span>need you</span></div>
        <div><b>{totals.unpriced > 0 && totals.cost === 0 ? "unknown" : money(totals.cost)}</b><span>{totals.unpriced > 0 ? `spent; ${counted(totals.unpriced, "turn")} reported no price` : "spent"}</span></div>
        <div><b>{short(totals.tokens)}</b><span>tokens</span></div>
      </div>
      <Lanes report={report} />
      {TITLES.map(([kind, title]) => {
        const lines = report.lines.filter((one) => one.kind === kind);
        return lines.length === 0 ? null : <Section key={kind} title={title} count={lines.length}><ul class="rows">{lines.map((one, at) => <Line key={at} line={one} />)}</ul></Section>;
      })}
      {report.claims.length > 0 && (
        <Section title="What agents claimed, and what is proved" count={report.claims.length}>
          <ul class="rows">
            {report.claims.map((one, at) => (
              <li key={at} class="report-line"><span class="small faint"><Clock at={one.at} /></span>
                <div class="text">“{one.quote}” <span class={`tag${one.verdict === "contradicted" ? " bad" : one.verdict === "unproved" ? " you" : ""}`}>{one.verdict}</span><div class="small muted">{one.why} · <a href={toSession(one.session)}>{one.title || one.session}</a></div></div></li>
            ))}
          </ul>
        </Section>
      )}
      {report.problems.map((one, at) => <p key={at} class="small bad">{one}</p>)}
    </>
  );
}

function Line({ line }: { line: ReportLine }) {
  const owner = line.of === "session" ? toSession(line.about) : line.of === "job" ? toJob(line.about) : line.of === "feature" ? toFeature(line.about, "") : null;
  return (
    <li class="report-line" data-standing={line.standing}>
      <span class="small faint"><Clock at={line.at} /></span>
      <div class="text"><span class={line.needs_you ? (line.kind === "failed" ? "bad" : "you") : ""}>{capital(line.text)}</span> {line.standing !== "proved" && <span class="tag">{line.standing}</span>}
        <div class="small muted">{owner !== null && line.of !== "feature" ? <a href={owner}>{line.title || line.about}</a> : line.title || line.about}{line.seconds !== null ? ` · ${duration(line.seconds)}` : ""}{line.cost !== null ? ` · ${money(line.cost)}` : ""}</div></div>
      {line.evidence.length > 0 && <div class="evidence"><span>evidence:</span>{line.evidence.slice(0, 8).map((one, at) => <Evidence key={at} one={one} />)}</div>}
    </li>
  );
}

function Evidence({ one }: { one: Cited }) {
  const words = ["turn", "exit", "record"].includes(one.kind) ? one.ref : `${one.kind} ${one.ref.slice(0, 12)}`;
  if (one.of === "session") return <a href={`/s/${one.where}${one.kind === "snapshot" ? "/changes" : one.kind === "turn" ? "" : `/record${one.seq ? `#fact-${one.seq}` : ""}`}`}>{words}</a>;
  if (one.of === "job") return <a href={toJob(one.where)}>{words}</a>;
  return <span>{words}</span>;
}

const KEY: readonly [string, string][] = [["working", "var(--muted)"], ["asking", "var(--you-line)"], ["cut off", "var(--bad-line)"], ["waiting", "var(--line-strong)"], ["idle", "var(--line)"]];

/** Every session on a line of its own: when it worked, asked, waited, and was cut off. */
function Lanes({ report }: { report: MorningReport }) {
  const all = report.stories.filter((one) => one.spans.length > 0).slice(0, 40);
  if (all.length === 0) return null;
  const from = Math.min(...all.flatMap((one) => one.spans.map((span) => span.since)));
  const to = Math.max(...all.flatMap((one) => one.spans.map((span) => span.until)));
  const x = (at: number): number => placeOn(at, from, to, 1000);
  return (
    <Section title={`${clock(from, report.made_at)} to ${clock(to, report.made_at)}`}>
      <div class="lane-key">{KEY.map(([name, colour]) => <span key={name}><i style={{ background: colour }} />{name}</span>)}</div>
      <div class="lanes">
        {all.map((one) => (
          <div key={one.session} class="lane">
            <a class="plain clip" href={toSession(one.session)}>{one.title || one.session}</a>
            <svg viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label={`${one.title}: ${one.cuts.length} times cut off, ${one.returns.length} times back`}>
              {one.spans.map((span, at) => <rect key={at} class={`ph-${span.phase}`} x={x(span.since)} width={Math.max(1.5, x(span.until) - x(span.since))} y="2" height="10" rx="1"><title>{`${span.phase} ${duration(span.until - span.since)}`}</title></rect>)}
            </svg>
          </div>
        ))}
      </div>
    </Section>
  );
}

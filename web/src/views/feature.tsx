/** A feature: its waves, its tasks with what proves them, and the question that a resume would ask. */

import { useSignal } from "@preact/signals";

import type { FeatureDetail, KnownFeatures } from "../api/types";
import { Ago, Command, Empty, Section, Skeleton, Trouble } from "../parts/small";
import { ReceiptLine } from "../parts/receipt";
import { Dots, Waves } from "../parts/waves";
import { decisionOf, needsOf, runOf } from "../state/features";
import { useFetched } from "../state/fetched";
import { toFeature, toSession } from "../state/router";
import { readOnly } from "../state/store";
import { act } from "../state/toasts";
import { money, short } from "../text/numbers";
import { duration } from "../text/time";
import { shortPath, stateIn, taskShape } from "../text/words";

export function FeatureView({ name, repository }: { name: string; repository: string }) {
  const found = useFetched<FeatureDetail>(`/features/${encodeURIComponent(name)}`, { repository }, 1);
  const detail = found.data.value;
  if (detail === null) return <><h1 class="page-head">{name}</h1>{found.problem.value !== null ? <Trouble problem={found.problem.value} retry={found.again} /> : <Skeleton lines={6} />}</>;
  const run = runOf(detail);
  const hasTokens = run.tasks.some((one) => one.tokens > 0);
  const hasCost = run.tasks.some((one) => one.cost !== null);
  const hasProof = run.tasks.some((one) => one.receipts.length > 0);
  const costs = [run.seconds !== null ? duration(run.seconds) : "", run.tokens ? `${short(run.tokens)} tokens` : "", run.cost !== null ? money(run.cost) : ""];
  return (
    <>
      <div class="page-head">
        <h1>{name}</h1><Dots run={run} />
        <span class="small muted">{[run.branch, shortPath(repository), run.mode, ...costs].filter(Boolean).join(" · ")}</span>
        {run.over && run.reason && <span class={`tag${run.reason === "completed" ? "" : " you"}`}>{run.reason}</span>}
      </div>
      {run.message && <p class="section">{run.message}</p>}
      {run.over && run.reason !== "completed" && <Resume detail={detail} again={found.again} />}
      {!run.over && !readOnly.value && <div class="section"><button type="button" class="button" onClick={() => void act("POST", `/features/${encodeURIComponent(name)}/stop`, { repository }, "The run is stopping. You can resume it later.")}>Stop the run</button></div>}
      {run.tasks.length > 0 && <Section title="Waves"><div class="card pad"><Waves run={run} needs={needsOf(detail)} /></div></Section>}
      <Section title="Tasks" count={run.tasks.length}>
        {run.tasks.length === 0 ? <Empty>The journal has no tasks.</Empty> : (
          <div class="table-wrap" tabIndex={0} role="region" aria-label="Tasks">
            <table class="list">
              <thead><tr><th>Task</th><th>State</th><th>Summary</th><th class="num">Time</th>{hasTokens && <th class="num">Tokens</th>}{hasCost && <th class="num">Cost</th>}{hasProof && <th>Receipts</th>}</tr></thead>
              <tbody>
                {run.tasks.map((task) => (
                  <tr key={task.id} data-task-row={task.id}>
                    <td class="nowrap">{task.session ? <a href={toSession(task.session)} data-item>{task.id}</a> : task.id}</td>
                    <td class={`nowrap${taskShape(task.state) === "bad" ? " bad" : taskShape(task.state) === "asks" ? " you" : ""}`}>{stateIn(run.over, task.state)}{task.round !== null && task.round > 1 ? `, round ${task.round}` : ""}</td>
                    <td>{task.summary}{task.problem && <div class="small bad">{task.problem}</div>}</td>
                    <td class="num">{task.seconds > 0 ? duration(task.seconds) : ""}</td>{hasTokens && <td class="num">{task.tokens > 0 ? short(task.tokens) : ""}</td>}{hasCost && <td class="num">{task.cost !== null ? money(task.cost) : ""}</td>}
                    {hasProof && <td class="small">{task.receipts.map((one, at) => <div key={at}><a href={toSession(one.session)}><ReceiptLine receipt={one} /></a></div>)}</td>}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Section>
      {run.over && run.leftovers.length > 0 && (
        <Section title="Branches left over" count={run.leftovers.length}>
          <ul class="rows">{run.leftovers.map((one) => <li key={one.branch} class="line"><span class="mono">{one.branch}</span><span />{one.only_there.length > 0 && <span class="why">Only there: {one.only_there.join(", ")}</span>}</li>)}</ul>
        </Section>
      )}
    </>
  );
}

/** What a resume would do, with the answers to what it asks. */
function Resume({ detail, again }: { detail: FeatureDetail; again: () => void }) {
  const instructions = useSignal("");
  const decision = decisionOf(detail);
  const sid = detail.analysis["sid"];
  const go = async (choice: string | null): Promise<void> => {
    const body = { repository: detail.repository, choice, instructions: choice === "C" ? instructions.value : "", seen: typeof sid === "string" ? sid : null };
    await act("POST", `/features/${encodeURIComponent(detail.feature)}/resume`, body, "It goes on.");
    again();
  };
  if (decision.case === "none" || readOnly.value) return null;
  return (
    <Section title="Resume">
      <div class="card pad stack">
        {decision.issues.map((one, at) => <div key={at} class="bad small">{one}</div>)}
        {decision.case === "A" && <div class="row wrap"><span>It continues where it stopped. Nothing needs a decision.</span><button type="button" class="button main" onClick={() => void go(null)}>Resume</button></div>}
        {decision.options.map((one) => (
          <div key={one.key} class="row wrap top">
            <button type="button" class="button" disabled={one.key === "C" && instructions.value.trim() === ""} onClick={() => void go(one.key)}>{one.key}. {one.title}</button>
            <span class="small muted grow">{one.effect}</span>
          </div>
        ))}
        {decision.options.some((one) => one.key === "C") && <input class="field" aria-label="Your instructions" placeholder="Your instructions, for C" value={instructions.value} onInput={(event) => (instructions.value = event.currentTarget.value)} />}
      </div>
    </Section>
  );
}

export function FeaturesView() {
  const found = useFetched<KnownFeatures>("/features", {}, 5);
  const all = found.data.value;
  return (
    <>
      <div class="page-head"><h1>Features</h1></div>
      {found.problem.value !== null && <Trouble problem={found.problem.value} retry={found.again} />}
      {all === null ? (found.problem.value === null && <Skeleton />) : all.features.length === 0 ? (
        <Empty>No features yet. A feature is a plan of tasks. They run in waves, each with its own agent and its own worktree.<Command text="rekindle run --plan plan.toml" /></Empty>
      ) : (
        <ul class="rows">
          {all.features.map((one) => (
            <li key={`${one.repository} ${one.feature}`}>
              <a class="line" data-item href={toFeature(one.feature, one.repository)}>
                <span class="name">{one.feature}</span><span class="small muted">{one.last_ts !== null && <Ago at={Date.parse(one.last_ts) / 1000} />}</span>
                <span class="about"><span class={one.state === "open" ? "you" : ""}>{one.state === "open" ? "interrupted" : one.state}{one.end_reason ? `, ${one.end_reason}` : ""}</span><span title={one.repository}>{shortPath(one.repository)}</span></span>
              </a>
            </li>
          ))}
        </ul>
      )}
      {all?.problems.map((one, at) => <p key={at} class="small bad">{one}</p>)}
    </>
  );
}

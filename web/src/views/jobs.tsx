/** Jobs: what runs unattended, when each is due next, and what became of the others. */

import type { JobRecord } from "../api/types";
import { Ago, Clock, Command, Empty, Id, Section, Skeleton, Trouble, Until } from "../parts/small";
import { ReceiptLine } from "../parts/receipt";
import { useFetched } from "../state/fetched";
import { toJob, toSession } from "../state/router";
import { readOnly } from "../state/store";
import { act } from "../state/toasts";
import { money } from "../text/numbers";
import { schedule } from "../text/schedule";
import { duration } from "../text/time";
import { capital } from "../text/words";

export function Jobs() {
  const found = useFetched<{ jobs: JobRecord[] }>("/jobs", { every: true }, 2);
  const all = found.data.value?.jobs ?? null;
  if (all === null) return <><h1 class="page-head">Jobs</h1>{found.problem.value !== null ? <Trouble problem={found.problem.value} retry={found.again} /> : <Skeleton lines={4} />}</>;
  const needing = all.filter((one) => one.needs_you);
  const schedules = all.filter((one) => one.every && one.over_at === null);
  const open = all.filter((one) => !one.every && one.over_at === null && !one.needs_you);
  const over = all.filter((one) => one.over_at !== null && !one.needs_you).reverse();
  return (
    <>
      <div class="page-head"><h1>Jobs</h1></div>
      {all.length === 0 && <Empty>No jobs yet. A job works on a task without you until it is done, with retries, now or on a schedule.<Command text={'rekindle job submit --agent claude --every "0 6 * * *" "Update the dependencies"'} /></Empty>}
      {needing.length > 0 && <Section title="Needs you" count={needing.length} isYou><JobTable jobs={needing} again={found.again} /></Section>}
      {schedules.length > 0 && <Section title="Scheduled" count={schedules.length}><JobTable jobs={schedules} again={found.again} /></Section>}
      {open.length > 0 && <Section title="Running" count={open.length}><JobTable jobs={open} again={found.again} /></Section>}
      {over.length > 0 && <Section title="Finished" count={over.length}><JobTable jobs={over.slice(0, 100)} again={found.again} /></Section>}
    </>
  );
}

function JobTable({ jobs, again }: { jobs: readonly JobRecord[]; again: () => void }) {
  return (
    <ul class="rows">
      {jobs.map((job) => (
        <li key={job.id} class="line" data-job={job.id}>
          <span class="name clip"><a class="plain" href={toJob(job.id)} data-item>{job.title || job.id}</a></span>
          <span class="small muted numbers right when">{job.next_at !== null ? <>next <Until at={job.next_at} /></> : job.over_at !== null ? <Ago at={job.over_at} /> : <Ago at={job.submitted_at} />}</span>
          {job.why && <span class={`why${job.needs_you ? (job.status === "failed" ? " bad" : " you") : ""}`}>{capital(job.why)}</span>}
          <span class="about">
            <span class={job.status === "failed" ? "bad" : ""}>{job.every && job.status === "queued" ? "scheduled" : job.status}</span><span>{job.agent}</span>{job.host && <span class="on-host" data-host={job.host}>on host {job.host}</span>}
            {job.every && <span title={job.every}>{schedule(job.every)}{job.zone ? ` (${job.zone})` : ""}</span>}
            {job.resume_count > 0 && <span>resumed {job.resume_count} {job.resume_count === 1 ? "time" : "times"}</span>}
            {job.receipt !== null && <ReceiptLine receipt={job.receipt} />}
            {job.cost !== null && <span class="numbers">{money(job.cost)}</span>}
            {job.session !== null && <a href={toSession(job.session)}>session</a>}
            <Acts job={job} again={again} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Acts({ job, again }: { job: JobRecord; again: () => void }) {
  if (readOnly.value) return null;
  const post = async (path: string, done: string): Promise<void> => {
    await act("POST", `/jobs/${job.id}/${path}`, undefined, done);
    again();
  };
  return (
    <>
      {(job.status === "failed" || job.status === "cancelled" || job.next.startsWith("rekindle job retry")) && !job.every && <button type="button" class="link" onClick={() => void post("retry?resume=true", "Trying again, in the same conversation.")}>retry</button>}
      {job.over_at === null && <button type="button" class="link" onClick={() => void post("cancel", "Cancelled.")}>cancel</button>}
    </>
  );
}

export function JobView({ id }: { id: string }) {
  const found = useFetched<{ job: JobRecord }>(`/jobs/${encodeURIComponent(id)}`, {}, 1);
  const job = found.data.value?.job ?? null;
  if (job === null) return <><h1 class="page-head">Job {id}</h1>{found.problem.value !== null ? <Trouble problem={found.problem.value} retry={found.again} /> : <Skeleton lines={5} />}</>;
  return (
    <>
      <div class="page-head"><h1>{job.title || job.id}</h1><span class={`tag${job.status === "failed" ? " bad" : job.needs_you ? " you" : ""}`}>{job.status}</span><Id id={job.id} /></div>
      {job.why && <p class="section">{capital(job.why)}{job.next && <span class="muted"> · next: <code>{job.next}</code></span>}</p>}
      <div class="grid-2">
        <Section title="Job">
          <dl class="pairs">
            <dt>agent</dt><dd>{job.agent}{job.model ? ` · ${job.model}` : ""}</dd>
            {job.host && (<><dt>host</dt><dd>{job.host}</dd></>)}
            <dt>submitted</dt><dd><Clock at={job.submitted_at} /></dd>
            {job.next_at !== null && (<><dt>next</dt><dd><Until at={job.next_at} /></dd></>)}
            {job.every && (<><dt>runs</dt><dd>{schedule(job.every)}{job.zone ? ` (${job.zone})` : ""} <code>{job.every}</code></dd></>)}
            <dt>retries</dt><dd>{job.retries_left} of {job.retries} left</dd>
            <dt>resumed</dt><dd>{job.resume_count} {job.resume_count === 1 ? "time" : "times"}</dd>
            {job.timeout !== null && (<><dt>time</dt><dd>{duration(job.timeout)} at most per turn</dd></>)}
            {job.cost !== null && (<><dt>cost</dt><dd>{money(job.cost)}{job.max_cost !== null ? ` of ${money(job.max_cost)}` : ""}</dd></>)}
            {job.receipt !== null && (<><dt>receipt</dt><dd><ReceiptLine receipt={job.receipt} /></dd></>)}
            <dt>folder</dt><dd class="mono">{job.cwd}</dd>
          </dl>
          <div class="row" style={{ marginTop: "12px" }}><Acts job={job} again={found.again} /></div>
        </Section>
        <Section title={job.runs.length > 0 ? "Runs" : "Steps"} count={job.runs.length || job.steps.length}>
          {job.runs.length > 0 ? <ul class="rows">{job.runs.slice().reverse().slice(0, 30).map((one) => <li key={one}><a class="line" href={toJob(one)}><span class="mono">{one}</span></a></li>)}</ul> : (
            <ul class="rows">
              {job.steps.map((step) => (
                <li key={step.name} class="line">
                  <span class="name">{step.session !== null ? <a class="plain" href={toSession(step.session)} data-item>{step.name}</a> : step.name}</span><span class={`small ${step.status === "failed" ? "bad" : "muted"}`}>{step.status.replace("_", " ")}</span>
                  <span class="why">{step.prompt.split("\n", 1)[0]}</span>{step.why && <span class="why">{step.why}</span>}
                </li>
              ))}
            </ul>
          )}
        </Section>
      </div>
    </>
  );
}

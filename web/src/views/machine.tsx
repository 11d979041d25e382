/** The machine: doctor, disk, agents, daemon; in a fleet, its hosts. */

import type { AgentRows, Findings, FleetStatus, MachineView } from "../api/types";
import { Clock, Copy, Section, Since, Skeleton, Trouble } from "../parts/small";
import { useFetched } from "../state/fetched";
import { theme, type Theme } from "../state/media";
import { governor, live, me } from "../state/store";
import { bytes } from "../text/numbers";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
/** A host that was not seen for so many seconds may be gone. */
const SILENT = 15;
const MARK = { ok: "✓", note: "!", bad: "✕" } as const;

export function Machine() {
  const machine = useFetched<MachineView>("/machine", {}, 30);
  const agents = useFetched<AgentRows>("/agents");
  const doctor = useFetched<Findings>("/doctor");
  const fleet = useFetched<FleetStatus>("/fleet", {}, 5);
  const hosts = fleet.data.value?.hosts ?? [];
  const told = machine.data.value;
  const places = governor.value?.places;
  const used = told !== null && told.disk_total > 0 ? 1 - told.disk_free / told.disk_total : 0;
  return (
    <>
      <div class="page-head"><h1>{me.value?.host ?? "Machine"}</h1></div>
      <div class="grid-2">
        <Section title="Daemon">
          {told === null ? machine.problem.value !== null ? <Trouble problem={machine.problem.value} retry={machine.again} /> : <Skeleton /> : (
            <div class="card pad">
              <dl class="pairs">
                <dt>version</dt><dd>{told.version}</dd>
                <dt>pid</dt><dd class="numbers">{told.pid}</dd>
                <dt>up for</dt><dd><Since at={told.started_at} /> (since <Clock at={told.started_at} />)</dd>
                <dt>sessions</dt><dd class="numbers">{told.sessions}, {told.live} with an agent</dd>
                {places !== undefined && (<><dt>agents at work</dt><dd class="numbers">{places.at_work}{places.most !== null ? ` of at most ${places.most}` : ""}{places.why ? ` (${places.why})` : ""}</dd></>)}
                {places?.short && (<><dt>memory</dt><dd class="you">{places.short}</dd></>)}
                <dt>address</dt><dd class="mono">{told.url}</dd>
                <dt>files</dt><dd class="row"><span class="mono clip">{told.state_dir}</span><Copy text={told.state_dir} /></dd>
                <dt>events</dt><dd class="numbers">{live.value?.seq.toLocaleString("en")}</dd>
              </dl>
            </div>
          )}
        </Section>
        <Section title="Disk">
          {told === null ? <Skeleton lines={1} /> : (
            <div class="card pad stack">
              <span class="meter" style={{ width: "100%", height: "8px" }} role="img" aria-label={`${Math.round(used * 100)} % of the disk is used`}><i class={used > 0.9 ? "you" : ""} style={{ width: `${used * 100}%` }} /></span>
              <span class="small muted numbers">{bytes(told.disk_free)} free of {bytes(told.disk_total)}</span>
            </div>
          )}
          <div style={{ height: "16px" }} />
          <h2>Page</h2>
          <div class="card pad row wrap" style={{ marginTop: "8px" }}><span class="muted grow">Theme</span><div class="filters" role="group" aria-label="Theme">{THEMES.map((one) => <button key={one} type="button" aria-pressed={theme.value === one} onClick={() => (theme.value = one)}>{one}</button>)}</div></div>
        </Section>
      </div>
      {fleet.problem.value !== null && <Trouble problem={fleet.problem.value} retry={fleet.again} />}
      {hosts.length > 0 && (
        <Section title="Hosts" more={<button type="button" class="link" onClick={fleet.again}>look again</button>}>
          <div class="table-wrap" tabIndex={0} role="region" aria-label="Hosts">
            <table class="list">
              <thead><tr><th>Host</th><th>State</th><th>Seen</th><th>Agents at work</th><th>Running</th><th>Sessions</th><th>Labels</th><th>Version</th></tr></thead>
              <tbody>
                {hosts.map((one) => (
                  <tr key={one.host} data-host={one.host}>
                    <td class="nowrap">{one.host}{one.host === fleet.data.value?.host && <span class="faint"> this one</span>}</td>
                    <td>{one.report.is_worker === false ? "no worker" : one.state}{one.report.trouble && <span class="you"> {one.report.trouble}</span>}</td>
                    <td class={one.seen_seconds_ago < SILENT ? "nowrap numbers" : "nowrap numbers you"}>{Math.round(one.seen_seconds_ago)} s ago{one.seen_seconds_ago < SILENT ? "" : ", may be gone"}</td>
                    <td class="numbers">{one.report.in_use}{one.report.capacity !== null ? ` of ${one.report.capacity}` : ""}</td>
                    <td class="numbers">{one.report.running.length}</td>
                    <td class="numbers">{one.sessions}</td>
                    <td>{one.report.labels.join(", ")}</td>
                    <td>{one.report.version}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
      )}
      <Section title="Doctor" more={<button type="button" class="link" onClick={doctor.again}>check again</button>}>
        {doctor.data.value === null ? doctor.problem.value !== null ? <Trouble problem={doctor.problem.value} retry={doctor.again} /> : <Skeleton lines={5} /> : (
          <ul class="rows">
            {doctor.data.value.findings.map((one, at) => (
              <li key={at} class="finding" data-finding={one.state}><span class={one.state === "bad" ? "bad" : one.state === "note" ? "you" : "faint"} aria-label={one.state}>{MARK[one.state]}</span><span>{one.what}</span>{one.remedy && <span class="remedy small muted">{one.remedy}</span>}</li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Agents">
        {agents.data.value === null ? agents.problem.value !== null ? <Trouble problem={agents.problem.value} retry={agents.again} /> : <Skeleton lines={4} /> : (
          <div class="table-wrap" tabIndex={0} role="region" aria-label="Agents">
            <table class="list">
              <thead><tr><th>Agent</th><th>Version</th><th>Resumes by</th><th>Program</th></tr></thead>
              <tbody>
                {[...agents.data.value.agents].sort((a, b) => Number(b.installed) - Number(a.installed)).map((one) => (
                  <tr key={one.name}><td class="nowrap">{one.title} <span class="id">{one.name}</span></td><td class="nowrap">{one.installed ? one.version || "installed" : <span class="faint">not installed</span>}</td><td>{one.resumes}</td><td class="mono small">{one.program ?? ""}</td></tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Section>
    </>
  );
}

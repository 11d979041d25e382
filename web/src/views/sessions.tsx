/** All sessions, grouped as `rekindle ps --all` groups them. */

import { useSignal } from "@preact/signals";

import type { FleetStatus } from "../api/types";
import { SessionLines } from "../parts/rows";
import { Command, Empty, Section, Skeleton } from "../parts/small";
import { useFetched } from "../state/fetched";
import { newestFirst } from "../state/live";
import { sessions } from "../state/store";
import { matches } from "../text/matching";
import { groupOf, GROUPS, NEEDS_YOU } from "../text/words";

const MOST = 100;
/** A host that was not seen for so many seconds may be gone. */
const SILENT = 15;

export function Sessions() {
  const typed = useSignal("");
  const all = sessions.value;
  if (all === null) return <><h1 class="page-head">Sessions</h1><Skeleton lines={4} /></>;
  const found = matches(newestFirst(all.values()), typed.value, (one) => `${one.title} ${one.id} ${one.agent} ${one.status} ${one.feature ?? ""} ${one.task ?? ""} ${one.branch ?? ""} ${one.cwd}`);
  return (
    <>
      <div class="page-head"><h1>Sessions<span class="count">{all.size}</span></h1></div>
      {all.size === 0 ? <Empty>No sessions yet.<Command text={'rekindle run --agent claude "…"'} /></Empty> : (
        <>
          <div class="section"><input class="field" style={{ maxWidth: "400px" }} placeholder="Filter by title, agent, branch, status …" aria-label="Filter sessions" value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} /></div>
          {GROUPS.map((group) => {
            const rows = found.filter((one) => groupOf(one) === group);
            return rows.length === 0 ? null : <Section key={group} title={group} count={rows.length} isYou={group === NEEDS_YOU}><SessionLines rows={rows.slice(0, MOST)} />{rows.length > MOST && <p class="small muted">The newest {MOST} of {rows.length}; filter for others.</p>}</Section>;
          })}
          {found.length === 0 && <Empty>No session has that.</Empty>}
        </>
      )}
      <Elsewhere />
    </>
  );
}

/** What other hosts of the fleet have: named, with the command that leads to it. Nothing on one machine. */
function Elsewhere() {
  const fleet = useFetched<FleetStatus>("/fleet", {}, 10).data.value;
  const rows = (fleet?.sessions ?? []).filter((one) => !one.here).reverse();
  const heard = new Set((fleet?.hosts ?? []).filter((one) => one.seen_seconds_ago < SILENT).map((one) => one.host));
  if (rows.length === 0) return null;
  return (
    <Section title="On other hosts" count={rows.length}>
      <p class="small muted">This page is of host {fleet?.host}. What follows is as their hosts have told; open it there, or by its command here.</p>
      <div class="table-wrap" tabIndex={0} role="region" aria-label="On other hosts">
        <table class="list">
          <thead><tr><th>Host</th><th>Session</th><th>Status</th><th>Title</th><th>Command</th></tr></thead>
          <tbody>
            {rows.slice(0, MOST).map((one) => (
              <tr key={one.id} data-elsewhere={one.id}>
                <td class="nowrap">{one.host}</td>
                <td class="id nowrap">{one.id}</td>
                <td class={heard.has(one.host) ? "nowrap" : "nowrap you"}>{one.status}{heard.has(one.host) ? "" : ", when its host was last seen"}</td>
                <td>{one.title}</td>
                <td><Command text={`rekindle show ${one.id}`} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > MOST && <p class="small muted">The newest {MOST} of {rows.length}; rekindle ps --all lists all.</p>}
    </Section>
  );
}

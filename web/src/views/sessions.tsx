/** All sessions, grouped as `rekindle ps --all` groups them. */

import { useSignal } from "@preact/signals";

import { SessionLines } from "../parts/rows";
import { Command, Empty, Section, Skeleton } from "../parts/small";
import { newestFirst } from "../state/live";
import { host, sessions } from "../state/store";
import { matches } from "../text/matching";
import { groupOf, GROUPS, NEEDS_YOU } from "../text/words";

const MOST = 100;

export function Sessions() {
  const typed = useSignal("");
  const all = sessions.value;
  if (all === null) return <><h1 class="page-head">Sessions</h1><Skeleton lines={4} /></>;
  const found = matches(newestFirst(all.values()), typed.value, (one) => `${one.title} ${one.id} ${one.agent} ${one.status} ${one.feature ?? ""} ${one.task ?? ""} ${one.branch ?? ""} ${one.cwd} ${one.host ?? ""}`);
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
      {host.value !== "" && <p class="small muted" data-fleet>This page is of host {host.value}. Sessions of other hosts are shown as their hosts have told.</p>}
    </>
  );
}

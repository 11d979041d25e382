/** A session that another host of the fleet has: where it is, how old what is shown is, and what cannot be done here. */

import { copyOf, heard, otherHost } from "../state/away";
import type { SessionStore } from "../state/session";
import { host } from "../state/store";
import type { AwayHost, SessionView } from "../api/types";
import { capital } from "../text/words";
import { Command } from "./small";

/** The host of a session or a question, in a list: nothing if it is this one. */
export function OnHost({ row }: { row: Pick<SessionView, "host"> }) {
  const other = otherHost(row, host.value);
  return other === null ? null : <span class="on-host" data-host={other}>on host {other}</span>;
}

/** Over a conversation that is a copy. */
export function AwayNote({ store, away }: { store: SessionStore; away: AwayHost }) {
  const told = store.told.value;
  const stale = store.stale.value;
  const copy = copyOf(store.source.value);
  return (
    <aside class={`card pad stack away${away.may_be_gone ? " gone" : ""}`} aria-label="Another host" data-away={away.host}>
      <div>This session is on <strong>host {away.host}</strong>, {heard(away)}. {copy && stale === null && <span class="muted" data-source>{copy} It is not live.</span>}</div>
      {stale !== null && <div class="small you">What is shown may be out of date: {stale.message}</div>}
      {away.may_be_gone && <GoneHost away={away} />}
      {told !== null && <div role="status" class={told.isBad ? "bad" : ""} data-told>{capital(told.text)}{told.hint && <div class="small muted">{capital(told.hint)}</div>}</div>}
    </aside>
  );
}

/** Only a person can know that a host is gone. */
function GoneHost({ away }: { away: AwayHost }) {
  return <><div class="small you">It may be gone. If you know that it is, continue the session here:</div><Command text={away.takeover} /></>;
}

/** What is only where the session is. */
export function OnlyThere({ away, what, command }: { away: AwayHost; what: string; command: string }) {
  return (
    <div class="card pad stack only-there" data-only-on={away.host}>
      <div>{what} on host {away.host}, and cannot be shown from here. Run this on {away.host}:</div>
      <Command text={command} />
      {away.may_be_gone && <GoneHost away={away} />}
    </div>
  );
}

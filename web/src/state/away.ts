/**
 * Sessions that another host of the fleet has: what is said of them, and of what was asked of their hosts. Pure.
 *
 * Nothing here is live. A session's status is what its host wrote last, its conversation is a copy.
 */

import type { AwayHost, SessionView } from "../api/types";
import { duration } from "../text/time";

/** What came of the last thing that was asked of another host. */
export interface Told {
  text: string;
  hint: string;
  isBad: boolean;
}

/** The other host that has a session; null: this one has it. `own` is this host's name, empty without a fleet. */
export function otherHost(row: Pick<SessionView, "host">, own: string): string | null {
  return own !== "" && row.host !== undefined && row.host !== own ? row.host : null;
}

/** When its host was last heard of, as `rekindle fleet status` says it. */
export function heard(away: AwayHost): string {
  if (away.seen_seconds_ago === null) return "never seen";
  return away.may_be_gone ? `last seen ${duration(away.seen_seconds_ago)} ago` : `seen ${duration(away.seen_seconds_ago)} ago`;
}

/** What the conversation on the screen is, in the words of `rekindle logs`. */
export function copyOf(source: string): string {
  return source === "" ? "" : `This is ${source}.`;
}

/** Whether somebody has to be told that it was recorded, and no more than that: it is neither done nor refused. */
export function isRecorded(code: string): boolean {
  return code === "recorded";
}

/** How long to wait before all sessions are asked for again. In a fleet nobody pushes what other hosts do. */
export function pause(isFleet: boolean, tookMilliseconds: number): number {
  return isFleet ? Math.max(5_000, 20 * tookMilliseconds) : 20_000;
}

/**
 * All sessions as the daemon tells them, folded from one answer and what is pushed after it. Pure.
 *
 * An answer says which place of the feed it includes; a pushed event has a place too. So each event counts once, however
 * often it comes, and nobody has to guess what was missed.
 */

import type { SessionView } from "../api/types";

export interface Live {
  /** The place in the feed up to which everything is known. */
  seq: number;
  sessions: ReadonlyMap<string, SessionView>;
}

/** One pushed event, as far as this fold needs it. */
export interface Pushed {
  seq: number;
  /** Another event of the same place follows. */
  more: boolean;
  session: string;
  view: SessionView | null;
}

/** What a whole answer says. It is newer than what was pushed only if its place is. */
export function answered(known: Live | null, seq: number, sessions: readonly SessionView[]): Live {
  if (known !== null && seq < known.seq) {
    // Pushed events came in between: what they said about a session stands, what they did not mention is taken over.
    const made = new Map(sessions.map((one) => [one.id, one]));
    for (const [id, one] of known.sessions) {
      const other = made.get(id);
      if (other === undefined || one.generation > other.generation || one.changed_at > other.changed_at) made.set(id, one);
    }
    return { seq: known.seq, sessions: made };
  }
  return { seq, sessions: new Map(sessions.map((one) => [one.id, one])) };
}

/** One more event. The same one again, or an old one, changes nothing. */
export function pushed(known: Live, event: Pushed): Live {
  if (event.seq <= known.seq) return known;
  const seq = event.more ? known.seq : event.seq;
  if (event.view === null) return seq === known.seq ? known : { seq, sessions: known.sessions };
  const sessions = new Map(known.sessions);
  sessions.set(event.view.id, event.view);
  return { seq, sessions };
}

/** Sessions in the order in which people look for them: what changed last comes first. */
export function newestFirst(sessions: Iterable<SessionView>): SessionView[] {
  return [...sessions].sort((a, b) => b.changed_at - a.changed_at || a.id.localeCompare(b.id));
}

/** A session in a list: its title, a sentence about its state, and small grey facts. */

import type { SessionView } from "../api/types";
import { toSession } from "../state/router";
import { now } from "../state/store";
import { money, short } from "../text/numbers";
import { AT_REST, FINISHED, groupOf, nameOf, NEEDS_YOU, shortPath, statusLine, WORKING } from "../text/words";
import { OnHost } from "./away";
import { Ago, Since } from "./small";
import { ReceiptLine } from "./receipt";

export function SessionLine({ row }: { row: SessionView }) {
  const group = groupOf(row);
  const isBad = row.status === "failed" || row.status === "interrupted" || row.status === "dead";
  const sentence = statusLine(row, now.value);
  return (
    <a class={`line${group === AT_REST || group === FINISHED ? " calm" : ""}`} href={toSession(row.id)} data-item data-session={row.id} data-status={row.status}>
      <span class="name clip">{nameOf(row)}</span>
      <span class="small muted numbers right">{row.turn_since !== null && row.is_running ? <Since at={row.turn_since} /> : <Ago at={row.changed_at} />}</span>
      <span class={`why${group === NEEDS_YOU ? (isBad ? " bad" : " you") : isBad ? " bad" : ""}`}>
        {group === WORKING ? working(row) : sentence}
      </span>
      <span class="about">
        <OnHost row={row} />
        <span>{row.agent}{row.model && row.model !== "default" ? ` · ${row.model}` : ""}</span>
        <span title={row.cwd}>{row.branch ?? shortPath(row.cwd)}</span>
        {group === WORKING && row.context !== null && <span class="row"><Filled percent={row.context.percent} />context {row.context.percent} %</span>}
        {row.usage.tokens > 0 && <span class="numbers">{short(row.usage.tokens)} tokens</span>}
        {row.usage.cost !== null && <span class="numbers">{money(row.usage.cost)}</span>}
        {row.queued > 0 && <span>{row.queued} queued</span>}
        {row.receipt !== null && row.attempt > 1 && <ReceiptLine receipt={row.receipt} />}
      </span>
    </a>
  );
}

/** What it works on. The title of a task's session begins with its role, which says nothing where that is work. */
function working(row: SessionView): string {
  const word = row.status.charAt(0).toUpperCase() + row.status.slice(1);
  return row.feature && row.task ? `${word}: ${row.title.replace(/^work: /, "")}` : word;
}

/** How full a context window is. */
export function Filled({ percent }: { percent: number }) {
  return <span class="meter" aria-hidden="true"><i class={percent > 85 ? "you" : ""} style={{ width: `${Math.min(100, percent)}%` }} /></span>;
}

export function SessionLines({ rows }: { rows: readonly SessionView[] }) {
  return <ul class="rows">{rows.map((row) => <li key={row.id}><SessionLine row={row} /></li>)}</ul>;
}

/** What a resume proved, in plain words, with its evidence one click away. */

import type { Attempt, Receipt, WholeSession } from "../api/types";
import { RECEIPT } from "../text/words";
import { Clock } from "./small";

/** The banner over a conversation whose agent was brought back. */
export function BackBanner({ whole, goTo }: { whole: WholeSession; goTo: (attempt: number) => void }) {
  const attempt = whole.session.attempts[whole.session.attempts.length - 1];
  if (attempt === undefined || attempt.number < 2) return null;
  const before = whole.session.attempts[whole.session.attempts.length - 2];
  const receipt = attempt.receipt;
  if (receipt === null) {
    if (attempt.status === "gone") return null;
    return (
      <div class="back" role="status" data-receipt="pending">
        <div><strong>Brought back{attempt.opened_at ? <> <Clock at={attempt.opened_at} /></> : ""}.</strong> Checking whether it is the same conversation.</div>
      </div>
    );
  }
  const worries = [...receipt.unknown, ...receipt.repeated];
  return (
    <div class={`back${receipt.kind !== "same" || worries.length > 0 ? " worry" : ""}`} role="status" data-receipt={receipt.kind}>
      <div><strong>Brought back{attempt.opened_at ? <> <Clock at={attempt.opened_at} /></> : ""} · {RECEIPT[receipt.kind]}</strong></div>
      <div class="muted">{receipt.reason}{whole.receipt_may_change ? " (still being checked)" : ""}</div>
      {worries.length > 0 && <ul class="unknown">{worries.map((line, at) => <li key={at}>{line}</li>)}</ul>}
      <details>
        <summary>see the evidence</summary>
        <Evidence attempt={attempt} before={before} token={whole.session.token} goTo={goTo} />
      </details>
    </div>
  );
}

function Evidence(props: { attempt: Attempt; before: Attempt | undefined; token: string | null; goTo: (attempt: number) => void }) {
  const { attempt, before } = props;
  return (
    <dl>
      {before !== undefined && (
        <>
          <dt>before</dt>
          <dd>attempt {before.number}: {before.how_ended || "nobody saw how it ended"} · <button type="button" class="link" onClick={() => props.goTo(before.number)}>go there</button></dd>
        </>
      )}
      <dt>started</dt>
      <dd>{attempt.how === "load" ? "the agent opened its own record" : "a new conversation"}{attempt.asked_by ? `; resumed by ${attempt.asked_by}` : "; by itself"}</dd>
      {attempt.why && (<><dt>why</dt><dd>{attempt.why}</dd></>)}
      {props.token !== null && (<><dt>token</dt><dd class="mono">{props.token}</dd></>)}
      <dt>attempt</dt>
      <dd>{attempt.number}{attempt.pid ? `, pid ${attempt.pid}` : ""} · <button type="button" class="link" onClick={() => props.goTo(attempt.number)}>go there</button></dd>
    </dl>
  );
}

/** One line, for lists. */
export function ReceiptLine({ receipt }: { receipt: Receipt }) {
  const unknown = receipt.unknown.length + receipt.repeated.length;
  return <span title={receipt.reason}>{RECEIPT[receipt.kind]}{unknown > 0 ? ` · ${unknown} unknown` : ""}</span>;
}

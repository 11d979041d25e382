/** Everything that is on record about a session, in order: the evidence behind every other line of the page. */

import { useSignal } from "@preact/signals";

import type { Fact } from "../api/types";
import { Clock, Empty } from "./small";

const MOST = 400;

export function Record({ facts }: { facts: readonly Fact[] }) {
  const all = useSignal(false);
  if (facts.length === 0) return <Empty>Nothing is on record yet.</Empty>;
  const shown = all.value ? facts : facts.slice(-MOST);
  return (
    <>
      {shown.length < facts.length && <button type="button" class="link small" onClick={() => (all.value = true)}>show all {facts.length.toLocaleString("en")}</button>}
      <ol class="record" aria-label="Facts">
        {shown.map((fact) => (
          <li key={fact.seq} data-seq={fact.seq} id={`fact-${fact.seq ?? ""}`}>
            <span class="numbers faint">{fact.seq}</span><span class="faint"><Clock at={fact.at} /></span>
            <details><summary>{fact.fact.replaceAll("_", " ")}<span class="muted"> {gist(fact)}</span></summary><pre tabIndex={0} class="output" style={{ overflowX: "auto" }}>{JSON.stringify(fact, null, 1)}</pre></details>
          </li>
        ))}
      </ol>
    </>
  );
}

const SAYING = ["reason", "message", "why", "how_ended", "title", "text", "stop_reason", "option", "kind", "problem"];

/** The one field that says most. */
function gist(fact: Fact): string {
  for (const name of SAYING) {
    const value = fact[name];
    if (typeof value === "string" && value) return value.length > 90 ? `${value.slice(0, 89)}…` : value;
  }
  return typeof fact["attempt"] === "number" ? `attempt ${fact["attempt"]}` : "";
}

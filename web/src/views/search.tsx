/** Search in all conversations, as you type. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { asProblem, get, type Problem } from "../api/client";
import type { SearchHits } from "../api/types";
import { Empty, Skeleton, Trouble } from "../parts/small";
import { go, toAttempt } from "../state/router";
import { marked } from "../text/marks";

const KINDS: Record<string, string> = { prompt: "you", told: "rekindle", said: "agent", tool: "tool", tool_done: "tool", thought: "thought" };

export function Search({ query }: { query: string }) {
  const typed = useSignal(query);
  const found = useSignal<SearchHits | null>(null);
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => { typed.value = query; }, [query]);
  useEffect(() => {
    const words = typed.value.trim();
    if (words === "") {
      found.value = null;
      isBusy.value = false;
      return undefined;
    }
    isBusy.value = true;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      // the last word may not be whole yet
      const asked = /[\w\p{L}]$/u.test(words) ? `${words}*` : words;
      get<SearchHits>("/search", { q: asked, limit: 50 }, stop.signal).then(
        (told) => { found.value = told; problem.value = null; isBusy.value = false; },
        (error: unknown) => { if (!stop.signal.aborted) { problem.value = asProblem(error); isBusy.value = false; } },
      );
      go(`/search?q=${encodeURIComponent(words)}`, true);
    }, 140);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [typed.value]);
  const hits = found.value?.hits ?? [];
  return (
    <>
      <h1 class="hidden-text">Search</h1>
      <input ref={field} class="field" type="search" style={{ fontSize: "17px" }} placeholder='Search all conversations: words, "a phrase", begin*' aria-label="Search all conversations" value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} />
      {problem.value !== null && <Trouble problem={problem.value} />}
      <div class="hits" aria-live="polite" aria-busy={isBusy.value}>
        {typed.value.trim() === "" && <p class="muted">Everything said in any session, including finished ones.</p>}
        {isBusy.value && found.value === null && <Skeleton />}
        {!isBusy.value && found.value !== null && hits.length === 0 && <Empty>No message has all of these words.</Empty>}
        {found.value?.not_searched && <p class="small muted" data-not-searched>{found.value.not_searched}.</p>}
        {hits.map(({ hit, title, agent }, at) => (
          <a key={at} class="card hit" data-item href={toAttempt(hit.session, hit.attempt)}>
            <span class="hit-head small muted"><strong class="clip">{title || hit.session}</strong><span class="nowrap">{hit.kind === "said" ? agent : (KINDS[hit.kind] ?? hit.kind)}</span><span class="id">{hit.session}</span></span>
            <span class="snippet">{marked(hit.snippet, hit.marks).map((part, n) => (part.isHit ? <mark key={n}>{part.text}</mark> : part.text))}</span>
          </a>
        ))}
      </div>
    </>
  );
}

/** Small things that every view uses: times that tick, copy buttons, problems, skeletons, empty states. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

import type { Problem } from "../api/client";
import { now } from "../state/store";
import { absolute, ago, clock, duration, until } from "../text/time";

export function Ago({ at }: { at: number }) {
  return <time class="numbers nowrap" dateTime={new Date(at * 1000).toISOString()} title={absolute(at)}>{ago(at, now.value)}</time>;
}

export function Clock({ at }: { at: number }) {
  return <time class="numbers nowrap" dateTime={new Date(at * 1000).toISOString()} title={absolute(at)}>{clock(at, now.value)}</time>;
}

export function Since({ at }: { at: number }) {
  return <span class="numbers nowrap" title={`since ${absolute(at)}`}>{duration(now.value - at)}</span>;
}

export function Until({ at }: { at: number }) {
  return <span class="numbers" title={absolute(at)}>{until(at, now.value)}</span>;
}

export function Copy({ text, what = "Copy" }: { text: string; what?: string }) {
  const done = useSignal(false);
  const copy = async (event: Event): Promise<void> => {
    event.preventDefault();
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
      done.value = true;
      setTimeout(() => (done.value = false), 1500);
    } catch {
      done.value = false;
    }
  };
  return (
    <button type="button" class="copy" aria-label={done.value ? "Copied" : what} title={done.value ? "Copied" : what} onClick={copy}>
      {done.value ? (
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="M3 8.500l3.200 3.200L13 5" fill="none" stroke="currentColor" stroke-width="1.600" /></svg>
      ) : (
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><rect x="5.500" y="5.500" width="8" height="8" rx="1.500" fill="none" stroke="currentColor" stroke-width="1.300" /><path d="M10.500 3.500v-.2a.8.8 0 0 0-.8-.8H3.300a.8.8 0 0 0-.8.8v6.400c0 .4.4.8.8.8h.2" fill="none" stroke="currentColor" stroke-width="1.300" /></svg>
      )}
    </button>
  );
}

/** Something to type in a terminal. */
export function Command({ text }: { text: string }) {
  return <div class="command"><code tabIndex={0}>{text}</code><Copy text={text} what="Copy the command" /></div>;
}

/** A small id that can be copied. */
export function Id({ id }: { id: string }) {
  return <span class="row" style={{ gap: "2px" }}><span class="id">{id}</span><Copy text={id} what={`Copy ${id}`} /></span>;
}

/** What happened, why, what to do; a retry only where a retry can help. */
export function Trouble({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="problem stack" role="alert">
      <div>{problem.message}</div>
      {problem.hint && <div class="small muted">{problem.hint}</div>}
      {retry !== undefined && problem.canRetry && <div><button class="button small" type="button" onClick={retry}>Try again</button></div>}
    </div>
  );
}

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="card pad stack" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => <div key={at} class="skeleton" style={{ width: `${[72, 48, 60, 36][at % 4] ?? 50}%` }} />)}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="card empty stack">{children}</div>;
}

export function Section(props: { title: string; count?: number | undefined; isYou?: boolean; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{props.title}{props.count !== undefined && <span class={props.isYou && props.count ? "count you" : "count"}>{props.count}</span>}</h2>
        {props.more !== undefined && <span class="more">{props.more}</span>}
      </div>
      {props.children}
    </section>
  );
}

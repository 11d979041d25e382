/** What is around every view: the bar at the top, how old the state is, the tab's title and icon, short messages. */

import { effect } from "@preact/signals";
import type { ComponentChildren } from "preact";

import { isPaletteOpen } from "../state/keys";
import { place, type Place } from "../state/router";
import { host, asOf, connectProblem, governor, isLive, live, me, needs, now, sessions } from "../state/store";
import { drop, toasts } from "../state/toasts";
import { money } from "../text/numbers";
import { clock } from "../text/time";
import { groupOf, WORKING } from "../text/words";
import { Help, Palette } from "./palette";

const VIEWS: readonly [string, string, readonly Place["view"][]][] = [
  ["/", "Home", ["home", "question"]],
  ["/sessions", "Sessions", ["sessions", "session"]],
  ["/f", "Features", ["features", "feature"]],
  ["/jobs", "Jobs", ["jobs"]],
  ["/report", "Report", ["report"]],
  ["/machine", "Machine", ["machine"]],
];

export function Flame() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16.800 3c.8 5.200-2 7.600-4.300 10.400C10.300 15.900 8.500 18.300 8.500 21.700a7.600 7.600 0 0 0 15.200 0c0-2.700-1.100-4.800-2.300-6.500-.4 2.100-1.200 3.300-2.600 3.900 1-6-.1-12-2-16.100z" fill="var(--you-line)" />
    </svg>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const view = place.value.view;
  const current = (views: readonly Place["view"][]): "page" | undefined => (views.includes(view) ? "page" : undefined);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <div class="top-inner">
          <a class="brand" href="/" aria-label="rekindle, home"><Flame /><span>rekindle</span></a>
          <nav class="nav" aria-label="Views">{VIEWS.map(([path, name, views]) => <a key={path} href={path} aria-current={current(views)}>{name}</a>)}</nav>
          <button type="button" class="summon" onClick={() => (isPaletteOpen.value = true)}><span class="summon-words">Find, go to, do …</span><span class="summon-short" aria-hidden="true"><Glass /></span> <kbd>Ctrl K</kbd></button>
          <Glance />
        </div>
      </header>
      <Stale />
      <main id="main" class="page" tabIndex={-1}>{children}</main>
      <nav class="bottom-nav" aria-label="Views, short">
        {[["/", "Inbox", VIEWS[0]![2]], ["/sessions", "Sessions", VIEWS[1]![2]], ["/jobs", "Jobs", VIEWS[3]![2]], ["/report", "Report", VIEWS[4]![2]], ["/machine", "Machine", VIEWS[5]![2]]].map(([path, name, views]) => (
          <a key={path as string} href={path as string} aria-current={current(views as Place["view"][])}>
            <span class="with-badge">{name as string}{path === "/" && needs.value > 0 && <span class="badge" aria-label={`${needs.value} open`}>{needs.value}</span>}</span>
          </a>
        ))}
      </nav>
      <div class="toasts" role="status" aria-live="polite">
        {toasts.value.map((one) => (
          <div key={one.id} class={`toast${one.isBad ? " bad" : ""}`}>
            <div class="grow"><div>{one.text}</div>{one.hint && <div class="small muted">{one.hint}</div>}</div>
            <button type="button" class="button quiet small" onClick={() => drop(one.id)} aria-label="Close this message">✕</button>
          </div>
        ))}
      </div>
      <Palette />
      <Help />
    </>
  );
}

function Glass() {
  return <svg viewBox="0 0 16 16" width="16" height="16"><circle cx="7" cy="7" r="4.500" fill="none" stroke="currentColor" stroke-width="1.500" /><path d="M10.500 10.500 L14 14" stroke="currentColor" stroke-width="1.500" /></svg>;
}

function Glance() {
  const all = sessions.value;
  const spent = governor.value?.spending[0];
  if (all === null) return <div class="glance"><span class="skeleton" style={{ width: "120px" }} /></div>;
  const working = [...all.values()].filter((one) => groupOf(one) === WORKING).length;
  return (
    <div class="glance numbers">
      <span class="host" title={host.value ? "This host of the fleet" : ""}>{host.value || me.value?.host}</span>
      <span class="agents">{working} working</span>
      {spent !== undefined && (spent.limit !== null || spent.spent > 0) && (
        <span title={`${spent.name}, until ${clock(spent.until, now.value)}; only agents that report their cost count`}>
          {money(spent.spent)}{spent.limit !== null ? ` of ${money(spent.limit)}` : " today"}
        </span>
      )}
    </div>
  );
}

/** After a break the old state stays, and says how old it is, until it is confirmed. */
function Stale() {
  if (isLive.value || live.value === null) {
    if (live.value === null && connectProblem.value !== null) return <div class="stale" role="status">{connectProblem.value.message} Trying again …</div>;
    return null;
  }
  return <div class="stale" role="status" data-stale>As of {clock(asOf.value ?? now.value, now.value)} · no answer from the daemon, trying again …</div>;
}

/** The tab says how many questions are open. */
export function startTab(): void {
  const icon = document.getElementById("icon") as HTMLLinkElement | null;
  effect(() => {
    const open = needs.value;
    const here = titleOf(place.value);
    document.title = `${open > 0 ? `(${open}) ` : ""}${here ? `${here} · ` : ""}rekindle`;
    if (icon !== null) icon.href = open > 0 ? `data:image/svg+xml,${encodeURIComponent(badge(open))}` : "/icon.svg";
  });
}

function titleOf(here: Place): string {
  if (here.view === "session") return sessions.value?.get(here.id)?.title ?? "";
  if (here.view === "feature") return here.name;
  return VIEWS.find(([, , views]) => views.includes(here.view))?.[1].replace("Home", "") ?? "";
}

function badge(open: number): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#e08a2b"/><text x="16" y="23" font-family="sans-serif" font-size="19" font-weight="700" text-anchor="middle" fill="#1f1d1a">${open > 9 ? "9+" : open}</text></svg>`;
}

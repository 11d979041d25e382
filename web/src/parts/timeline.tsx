/** Attempts, interruptions and resumes on a line; a click goes there. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import type { Fact, WholeSession } from "../api/types";
import { now } from "../state/store";
import { counted } from "../text/numbers";
import { absolute, clock } from "../text/time";
import { labels, ruler, story, type Mark } from "../text/timeline";

export function Timeline({ whole, facts, goTo }: { whole: WholeSession; facts: readonly Fact[]; goTo: (attempt: number) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useSignal(800);
  useEffect(() => {
    if (frame.current === null) return undefined;
    const eye = new ResizeObserver((found) => (width.value = Math.max(200, found[0]?.contentRect.width ?? 800)));
    eye.observe(frame.current);
    return () => eye.disconnect();
  }, []);
  const found = story(whole.session.attempts, whole.session.prompts, facts, whole.created_at, whole.away === undefined ? now.value : whole.changed_at);
  if (found.lives.length === 0) return null;
  const inset = 8;
  const scale = ruler([found.from, found.to, ...found.lives.flatMap((one) => [one.from, one.to]), ...found.marks.map((one) => one.at)], width.value - 2 * inset);
  const x = (at: number): number => inset + scale(at);
  const isRunning = whole.away === undefined && found.lives.some((one) => one.isOpen);
  return (
    <div class="timeline" ref={frame}>
      <svg role="group" aria-label={`Timeline: ${counted(found.lives.length, "attempt")} since ${absolute(found.from)}`}>
        {found.lives.map((life, at) => {
          const next = found.lives[at + 1];
          const mark = found.marks.find((one) => one.attempt === life.attempt && (one.kind === "cut" || one.kind === "stopped"));
          return (
            <g key={life.attempt}>
              <line class={`life${life.isOpen && isRunning ? " now" : ""}`} x1={x(life.from)} x2={Math.max(x(life.to), x(life.from) + 1)} y1="16" y2="16" />
              {next !== undefined && <line class={`gap${mark?.kind === "stopped" ? " rest" : ""}`} x1={x(life.to)} x2={x(next.from)} y1="16" y2="16" />}
            </g>
          );
        })}
        {found.marks.map((mark, at) => <Dot key={at} mark={mark} x={x(mark.at)} goTo={goTo} />)}
        <text x={inset} y="40">{clock(found.from, now.value)}</text>
        {labels(found.marks, x, width.value, (at) => clock(at, now.value)).map((one, at) => <text key={at} x={one.x} y="40" text-anchor="middle">{one.text}</text>)}
        <text x={width.value - inset} y="40" text-anchor="end">{isRunning ? "now" : clock(found.to, now.value)}</text>
      </svg>
    </div>
  );
}

function Dot({ mark, x, goTo }: { mark: Mark; x: number; goTo: (attempt: number) => void }) {
  const text = `${mark.text} · ${absolute(mark.at)}`;
  const go = (event: Event): void => {
    event.preventDefault();
    event.stopPropagation();
    goTo(mark.attempt);
  };
  const shape = {
    prompt: <circle class="prompt-dot" cx={x} cy="16" r="4" />,
    cut: <path class="cut" d={`M${x - 4} 12 l8 8 m0 -8 l-8 8`} />,
    stopped: <line class="life now" x1={x} x2={x} y1="11" y2="21" />,
    back: <path class="back-mark" d={`M${x - 3} 10.500 l8 5.500 l-8 5.500 z`} />,
    begun: <circle class="back-mark" cx={x} cy="16" r="4" />,
  }[mark.kind];
  return (
    <a href={`#attempt-${mark.attempt}`} onClick={go} aria-label={text}>
      <title>{text}</title>
      <circle cx={x} cy="16" r="12" fill="transparent" />
      {shape}
    </a>
  );
}

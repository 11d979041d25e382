/** A feature as a graph of waves that moves as its tasks do. */

import type { RunView } from "../api/types";
import { isPhone } from "../state/media";
import { toSession } from "../state/router";
import { money, short } from "../text/numbers";
import { span } from "../text/time";
import { BOX, layout, SMALL_BOX } from "../text/waves";
import { stateIn, taskShape, type TaskShape } from "../text/words";

export function Waves({ run, needs }: { run: RunView; needs: ReadonlyMap<string, readonly string[]> }) {
  const box = isPhone.value ? SMALL_BOX : BOX;
  const letters = Math.floor((box.width - 40) / 7);
  const graph = layout(run.waves, run.tasks.map((one) => one.id), needs, box);
  const tasks = new Map(run.tasks.map((one) => [one.id, one]));
  const done = run.tasks.filter((one) => taskShape(one.state) === "done").length;
  return (
    <div class="waves" tabIndex={0} role="region" aria-label={`${run.feature}: ${done} of ${run.tasks.length} tasks`}>
      <svg width={graph.width + 4} height={graph.height + 4} viewBox={`-2 -2 ${graph.width + 4} ${graph.height + 4}`} role="group">
        {graph.edges.map((one) => <path key={`${one.from} ${one.to}`} class="edge eased" d={one.path} />)}
        {graph.nodes.map((node) => {
          const task = tasks.get(node.id);
          if (task === undefined) return null;
          const state = stateIn(run.over, task.state);
          const shape = taskShape(state);
          const about = [state, task.seconds > 0 ? span(task.seconds) : "", task.tokens > 0 ? short(task.tokens) : "", task.cost ? money(task.cost) : ""];
          const shown = (
            <g class={`node ${shape}`} data-task={task.id} data-state={state}>
              <title>{`${task.id}: ${task.summary}\n${state}${task.problem ? `: ${task.problem}` : ""}`}</title>
              <rect class="eased" x={node.x} y={node.y} width={box.width} height={box.height} rx="6" />
              <Mark shape={shape} x={node.x + 18} y={node.y + box.height / 2} />
              <text x={node.x + 34} y={node.y + 21}>{cut(task.id, letters)}</text>
              <text class="sub numbers" x={node.x + 34} y={node.y + 37}>{cut(about.filter(Boolean).join(" · "), letters + 3)}</text>
            </g>
          );
          return task.session ? <a key={node.id} href={toSession(task.session)} aria-label={`${task.id}, ${state}`}>{shown}</a> : <g key={node.id}>{shown}</g>;
        })}
      </svg>
    </div>
  );
}

function Mark({ shape, x, y }: { shape: TaskShape; x: number; y: number }) {
  switch (shape) {
    case "done":
      return <path class="mark" d={`M${x - 5} ${y} l3.500 3.500 l6.500 -7`} />;
    case "busy":
      return <g class="breathing"><circle class="mark" cx={x} cy={y} r="5" /><circle class="mark full" cx={x} cy={y} r="2.500" /></g>;
    case "asks":
      return <circle class="mark" cx={x} cy={y} r="5" />;
    case "bad":
      return <path class="mark" d={`M${x - 4} ${y - 4} l8 8 m0 -8 l-8 8`} />;
    case "left":
      return <path class="mark" d={`M${x - 5} ${y} h10`} />;
    case "todo":
      return <circle class="mark" cx={x} cy={y} r="5" />;
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** `●●●◐○`: a feature on one line. */
export function Dots({ run }: { run: RunView }) {
  const mark: Record<TaskShape, string> = { done: "●", busy: "◐", asks: "◐", bad: "✕", left: "–", todo: "○" };
  const done = run.tasks.filter((one) => taskShape(one.state) === "done").length;
  return (
    <span class="row small muted">
      <span class="dots" aria-hidden="true">{run.tasks.map((one) => mark[taskShape(stateIn(run.over, one.state))]).join("")}</span>
      <span class="numbers nowrap">{done} of {run.tasks.length} tasks</span>
    </span>
  );
}

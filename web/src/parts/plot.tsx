/** Context, tokens and cost over time, with interruptions marked. uPlot is loaded only where there is something to plot. */

import { useEffect, useRef } from "preact/hooks";

import type { Fact } from "../api/types";
import type { Series } from "../text/series";

export function Plot(props: { title: string; value: string; series: Series; cuts: readonly number[]; most?: number | null; isSteps?: boolean }) {
  const frame = useRef<HTMLDivElement>(null);
  const { series } = props;
  const key = `${series.times.length} ${series.values[series.values.length - 1] ?? 0} ${props.cuts.length}`;
  useEffect(() => {
    const there = frame.current;
    if (there === null || series.times.length < 2) return undefined;
    let isGone = false;
    let clean = (): void => undefined;
    void Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(([{ default: uPlot }]) => {
      if (isGone) return;
      const style = getComputedStyle(document.documentElement);
      const colour = (name: string): string => resolved(there, style.getPropertyValue(name));
      const [ink, bad, wash] = [colour("--muted"), colour("--bad-line"), colour("--line")];
      const steps = uPlot.paths.stepped?.({ align: 1 });
      const plot = new uPlot(
        {
          width: there.clientWidth || 320,
          height: 72,
          padding: [6, 4, 2, 4],
          cursor: { show: false },
          legend: { show: false },
          select: { show: false, left: 0, top: 0, width: 0, height: 0 },
          scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(props.most ?? 0, high) || 1] } },
          axes: [{ show: false }, { show: false }],
          series: [{}, { stroke: ink, width: 1.5, fill: wash, points: { show: false }, ...(props.isSteps && steps ? { paths: steps } : {}) }],
          hooks: {
            draw: [(drawn) => {
              const pen = drawn.ctx;
              pen.save();
              pen.strokeStyle = bad;
              pen.lineWidth = devicePixelRatio;
              pen.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
              for (const at of props.cuts) {
                const x = drawn.valToPos(at, "x", true);
                if (x < drawn.bbox.left || x > drawn.bbox.left + drawn.bbox.width) continue;
                pen.beginPath();
                pen.moveTo(x, drawn.bbox.top);
                pen.lineTo(x, drawn.bbox.top + drawn.bbox.height);
                pen.stroke();
              }
              pen.restore();
            }],
          },
        },
        [series.times.slice(), series.values.slice()],
        there,
      );
      clean = () => plot.destroy();
    });
    return () => {
      isGone = true;
      clean();
    };
  }, [key]);
  return (
    <div class="plot">
      <div class="plot-head"><span>{props.title}</span><b>{props.value}</b></div>
      {series.times.length >= 2 && <div ref={frame} role="img" aria-label={`${props.title}: ${props.value}`} />}
    </div>
  );
}

/** A canvas needs a plain colour: `light-dark()` is resolved by an element. */
function resolved(there: HTMLElement, value: string): string {
  const before = there.style.color;
  there.style.color = value;
  const found = getComputedStyle(there).color;
  there.style.color = before;
  return found;
}

/** When its agent died at work. */
export function cutsOf(facts: readonly Fact[]): number[] {
  return facts.filter((one) => one.fact === "exited" && one["by_us"] === false).map((one) => one.at);
}

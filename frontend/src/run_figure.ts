/** What Plotly is told to draw of a run: its seconds, and the mean of all until then. Pure, tested without a browser. */
import type { Figure } from "./chart_figure";
import { type ChartTheme, isDashed, tokenOf, withAlpha } from "./chart_theme";
import { axisBelow, axisBeside, plainLayout } from "./figure_layout";
import { withGaps } from "./traces";
import type { BesideLine, CourseAnswer, CoursePoint, Point } from "./wire";

/** Of the load itself; every other metric is one that the cluster has beside it. */
export type RunMetric = "tps" | "latency_ms";

const TICK_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400] as const;

export const UNITS: Readonly<Record<RunMetric, string>> = { tps: "tps", latency_ms: "ms" };

/** Of one figure over time; a second in which the programs told nothing is a gap. */
export function line(course: CourseAnswer, key: keyof CoursePoint): Point[] {
  const points = course.points.map((point): Point => [point.at_s, point[key]]);
  return withGaps(points, 1.5 * course.step_s);
}

/** The highest that the axis must hold: seconds only, so that a wide interval at the beginning does not squeeze them. */
export function highest(course: CourseAnswer, metric: RunMetric): number {
  return Math.max(0, ...course.points.map((point) => point[metric] ?? 0));
}

/** Finer than axisEnd: what hangs around one value shall not lie flat in the middle. */
const ENDS = [1, 2, 3, 4, 5, 6, 8, 10] as const;

/** An axis that holds the value, and never ends lower than it did. */
export function roomFor(value: number, currentEnd: number): number {
  if (!(value > currentEnd)) return currentEnd;
  const power = 10 ** Math.floor(Math.log10(value));
  return (ENDS.find((end) => end * power >= value) ?? 10) * power;
}

/** 0 → 0; 90 → 1 min 30 s; 7200 → 2 h */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(whole / 3600), "h"],
    [Math.floor((whole % 3600) / 60), "min"],
    [whole % 60, "s"],
  ];
  const said = parts.filter(([value]) => value > 0).map(([value, unit]) => `${value}\u00a0${unit}`);
  return said.length === 0 ? "0" : said.join(" ");
}

/** Marks from 0 to the end, at most six steps. */
export function timeTicks(endS: number): number[] {
  const step = TICK_STEPS_S.find((candidate) => endS / candidate <= 6) ?? 86_400;
  return Array.from({ length: Math.floor(endS / step) + 1 }, (_, index) => index * step);
}

export function besideLines(course: CourseAnswer, metric: string): readonly BesideLine[] {
  return course.beside.filter((each) => each.metric === metric);
}

/** Shares end at 100 %, whatever they are. */
export function besideEnd(lines: readonly BesideLine[], currentEnd: number): number {
  if (lines[0]?.unit === "share") return 1;
  const values = lines.flatMap(({ points }) => points.flatMap(([, value]) => value ?? []));
  return roomFor(Math.max(0, ...values), currentEnd);
}

export function besideFigure(course: CourseAnswer, lines: readonly BesideLine[], axisEnd: number, theme: ChartTheme): Figure {
  const data = lines.map((each, position) => {
    const drawnAs = { nodeId: each.node_id };
    const dash = isDashed(drawnAs, position) ? "6px,2px" : "solid";
    return drawn(each.points, { color: theme[tokenOf(drawnAs, position)], width: 1.75, dash });
  });
  return { data, layout: layoutOf(course, lines[0]?.unit ?? "", axisEnd, theme) };
}

export function runFigure(course: CourseAnswer, metric: RunMetric, axisEnd: number, theme: ChartTheme): Figure {
  const seconds = drawn(line(course, metric), { color: theme["text-3"], width: 1.25 });
  const data = metric === "tps" ? [...band(course, theme), seconds, mean(course, theme)] : [seconds];
  return { data, layout: layoutOf(course, UNITS[metric], axisEnd, theme) };
}

function drawn(points: readonly Point[], line: object): object {
  const x = points.map(([atS]) => atS);
  return { x, y: points.map(([, value]) => value), mode: "lines", connectgaps: false, line, hoverinfo: "none" };
}

function mean(course: CourseAnswer, theme: ChartTheme): object {
  return drawn(line(course, "mean_tps"), { color: theme.accent, width: 2.25 });
}

/** The interval: along its upper end and back along the lower one. */
function band(course: CourseAnswer, theme: ChartTheme): object[] {
  const known = course.points.flatMap(({ at_s, low_tps, high_tps }) => (low_tps === null || high_tps === null ? [] : [{ at_s, low_tps, high_tps }]));
  if (known.length < 2) return [];
  const back = known.toReversed();
  return [
    {
      x: [...known.map((point) => point.at_s), ...back.map((point) => point.at_s)],
      y: [...known.map((point) => point.high_tps), ...back.map((point) => point.low_tps)],
      mode: "lines",
      line: { width: 0 },
      fill: "toself",
      fillcolor: withAlpha(theme.accent, 0.16),
      hoverinfo: "skip",
    },
  ];
}

function layoutOf(course: CourseAnswer, unit: string, axisEnd: number, theme: ChartTheme): object {
  const times = timeTicks(course.duration_s);
  const spikes = { showspikes: true, spikemode: "across", spikesnap: "cursor", spikethickness: 1, spikedash: "solid", spikecolor: theme["text-3"] };
  return {
    ...plainLayout(theme),
    hovermode: "x",
    hoverdistance: 40,
    spikedistance: -1,
    uirevision: "keep",
    xaxis: { ...axisBelow(theme), range: [0, course.duration_s], tickvals: times, ticktext: times.map(duration), ...spikes },
    yaxis: axisBeside(theme, axisEnd, unit),
  };
}

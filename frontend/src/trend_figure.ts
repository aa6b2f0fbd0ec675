/** What Plotly is told to draw of a campaign: each arm against its own median, round by round, and where it stepped. Pure. */
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { lineOf } from "./course_figure";
import { axisBelow, axisBeside, plainLayout } from "./figure_layout";
import { roomFor } from "./run_figure";
import { plainNumber, signedPercent } from "./values";
import type { TrendAnswer, TrendPoint } from "./wire";

/** Rates of arms lie far apart, and steps that matter are a few percent: hence percent of the arm's own median. */
interface At {
  readonly due: string;
  readonly percent: number;
  readonly low: number;
  readonly high: number;
  readonly point: TrendPoint;
}

/** Steps of less than the noise of most machines do not fill the drawing. */
const LEAST_END_PERCENT = 5;

/** Of one arm, the rounds that have a figure; the answer has the latest round first. */
export function rounds(trend: TrendAnswer, arm: number): At[] {
  const measured = trend.rounds.toReversed().flatMap(({ due_at: due, trend: points }) => {
    const point = points[arm];
    return point === undefined || point.tps === null ? [] : [{ due, point, tps: point.tps }];
  });
  const middle = median(measured.map(({ tps }) => tps));
  const against = (tps: number): number => 100 * (tps / middle - 1);
  return measured.map(({ due, point, tps }) => ({ due, point, percent: against(tps), low: against(point.low ?? tps), high: against(point.high ?? tps) }));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

const DAY_MS = 86_400_000;

/** Whether marks a few hours apart would all have one date. */
function isWithinDays(found: readonly At[]): boolean {
  const times = found.map(({ due }) => Date.parse(due));
  return Math.max(...times) - Math.min(...times) < 4 * DAY_MS;
}

export function trendFigure(trend: TrendAnswer, theme: ChartTheme): Figure {
  const arms = trend.arms.map((_, arm) => rounds(trend, arm));
  const furthest = Math.max(LEAST_END_PERCENT, ...arms.flat().map(({ low, high }) => Math.max(-low, high)));
  const end = roomFor(furthest, 1);
  const ticks = [-end, -end / 2, 0, end / 2, end];
  return {
    data: arms.flatMap((found, arm) => [lineTrace(found, lineOf({ is_baseline: arm === trend.baseline }, arm), theme), stepTrace(found, theme)]),
    layout: {
      ...plainLayout(theme, 30),
      xaxis: { ...axisBelow(theme), type: "date", nticks: 6, tickangle: 0, tickformat: isWithinDays(arms.flat()) ? "%-d %b %H:%M" : "%-d %b" },
      yaxis: {
        ...axisBeside(theme, end, "%"),
        range: [-end, end],
        tickvals: ticks,
        ticktext: ticks.map((tick) => (tick === 0 ? "0 %" : `${tick < 0 ? "−" : "+"}${plainNumber(Math.abs(tick), Number.isInteger(tick) ? 0 : 1)} %`)),
      },
    },
  };
}

function lineTrace(found: readonly At[], { token, dash }: ReturnType<typeof lineOf>, theme: ChartTheme): object {
  return {
    x: found.map(({ due }) => due),
    y: found.map(({ percent }) => percent),
    mode: "lines+markers",
    line: { color: theme[token], width: 1.5, dash },
    marker: { color: theme[token], size: 6 },
    error_y: {
      type: "data",
      symmetric: false,
      array: found.map(({ percent, high }) => high - percent),
      arrayminus: found.map(({ percent, low }) => percent - low),
      color: theme[token],
      thickness: 1.25,
      width: 3,
    },
    hoverinfo: "none",
  };
}

/** Confirmed steps are ringed and told; a suspicion is ringed alone. */
function stepTrace(found: readonly At[], theme: ChartTheme): object {
  const ringed = found.filter(({ point }) => point.change === "confirmed" || point.change === "suspected");
  const colours = ringed.map(({ point }) => (point.change === "suspected" ? theme.warn : (point.change_percent ?? 0) < 0 ? theme.crit : theme.ok));
  return {
    x: ringed.map(({ due }) => due),
    y: ringed.map(({ percent }) => percent),
    mode: "markers+text",
    marker: { symbol: "circle-open", size: 14, color: colours, line: { width: 2 } },
    text: ringed.map(({ point }) => (point.change === "confirmed" && point.change_percent !== null ? signedPercent(point.change_percent) : "")),
    textposition: "top center",
    textfont: { size: 11, color: theme.text },
    cliponaxis: false,
    hoverinfo: "none",
  };
}

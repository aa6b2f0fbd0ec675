/** What Plotly is told to draw of a sweep: the typical rate at each place, with its interval. Pure. */
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { axisBelow, axisBeside, plainLayout } from "./figure_layout";
import { roomFor } from "./run_figure";
import type { PointAnswer, SweepAnswer } from "./wire";

/** Places are spread evenly where each is some times the one before, as 1, 2, 4, 8. */
export function isByRatio(points: readonly PointAnswer[]): boolean {
  const first = points[0]?.x ?? 0;
  const last = points.at(-1)?.x ?? 0;
  return first > 0 && last / first >= 8;
}

export function sweepFigure(sweep: SweepAnswer, theme: ChartTheme): Figure {
  const { points } = sweep;
  const end = roomFor(Math.max(0, ...points.map((point) => point.high ?? point.tps)), 1);
  const limited = points.filter((point) => point.limit !== "");
  const best = points.filter((point) => point.x === sweep.best_x);
  return {
    data: [
      {
        x: points.map((point) => point.x),
        y: points.map((point) => point.tps),
        mode: "lines+markers",
        line: { color: theme["text-3"], width: 1.25 },
        marker: { color: theme.text, size: 7 },
        error_y: {
          type: "data",
          symmetric: false,
          array: points.map((point) => (point.high ?? point.tps) - point.tps),
          arrayminus: points.map((point) => point.tps - (point.low ?? point.tps)),
          color: theme.text,
          thickness: 1.5,
          width: 4,
        },
        hoverinfo: "none",
      },
      {
        x: limited.map((point) => point.x),
        y: limited.map((point) => point.tps),
        mode: "markers+text",
        marker: { symbol: "circle-open", color: theme["text-3"], size: 13, line: { width: 1.5 } },
        text: limited.map((point) => point.limit),
        textposition: "bottom right",
        textfont: { size: 11, color: theme["text-2"] },
        cliponaxis: false,
        hoverinfo: "none",
      },
      { x: best.map((point) => point.x), y: best.map((point) => point.tps), mode: "markers", marker: { color: theme.accent, size: 11 }, hoverinfo: "none" },
    ],
    layout: {
      ...plainLayout(theme, 30),
      xaxis: { ...axisBelow(theme), type: isByRatio(points) ? "log" : "linear", tickvals: points.map((point) => point.x), ticktext: points.map((point) => String(point.x)) },
      yaxis: axisBeside(theme, end, "tps"),
    },
  };
}

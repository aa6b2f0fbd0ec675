/** What Plotly is told to draw of several arms over the time of their runs. Pure. */
import type { Figure } from "./chart_figure";
import type { ChartTheme, Token } from "./chart_theme";
import { duration, roomFor, timeTicks } from "./run_figure";
import { axisTicks } from "./traces";
import { axisFigure } from "./values";
import type { ArmCourse, CoursesAnswer } from "./wire";

/** Colours belong to nodes; arms are told apart by grey and dash, and the baseline by the accent. */
const GREYS: readonly Token[] = ["text", "text-3", "text-2"];
const DASHES = ["solid", "dash", "dot", "dashdot"] as const;

export function lineOf(arm: Pick<ArmCourse, "is_baseline">, position: number): { readonly token: Token; readonly dash: (typeof DASHES)[number] } {
  if (arm.is_baseline) return { token: "accent", dash: "solid" };
  return { token: GREYS[position % GREYS.length] ?? "text", dash: DASHES[Math.floor(position / GREYS.length) % DASHES.length] ?? "solid" };
}

export function coursesFigure(courses: CoursesAnswer, theme: ChartTheme): Figure {
  const highest = Math.max(0, ...courses.arms.flatMap((arm) => arm.points.map(([, rate]) => rate)));
  const end = roomFor(highest, 1);
  const ticks = axisTicks(end);
  const times = timeTicks(courses.duration_s);
  const axis = { fixedrange: true, zeroline: false, automargin: false };
  return {
    data: courses.arms.map((arm, position) => {
      const { token, dash } = lineOf(arm, position);
      return {
        x: arm.points.map(([atS]) => atS),
        y: arm.points.map(([, rate]) => rate),
        // Of a run of one second there is no line.
        mode: arm.points.length > 1 ? "lines" : "markers",
        marker: { color: theme[token], size: 7 },
        line: { color: theme[token], width: arm.is_baseline ? 2.25 : 1.5, dash },
        hoverinfo: "none",
      };
    }),
    layout: {
      margin: { l: 52, r: 24, t: 16, b: 26, pad: 0 },
      paper_bgcolor: theme.surface,
      plot_bgcolor: theme.surface,
      autosize: true,
      showlegend: false,
      font: { family: "Inter, system-ui, sans-serif", size: 11, color: theme["text-3"] },
      dragmode: false,
      separators: ".,",
      xaxis: { ...axis, range: [0, courses.duration_s], tickvals: times, ticktext: times.map(duration), showgrid: false, showline: true, ticks: "outside", ticklen: 4, tickcolor: theme["line-strong"], linecolor: theme["line-strong"] },
      yaxis: { ...axis, range: [0, end * 1.001], tickvals: ticks, ticktext: ticks.map((tick) => axisFigure(tick, "tps")), showgrid: true, gridcolor: theme.line, gridwidth: 1, showline: false, ticks: "" },
    },
  };
}

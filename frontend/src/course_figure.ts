/** What Plotly is told to draw of several arms over the time of their runs. Pure. */
import type { Figure } from "./chart_figure";
import type { ChartTheme, Token } from "./chart_theme";
import { axisBelow, axisBeside, plainLayout } from "./figure_layout";
import { duration, roomFor, timeTicks } from "./run_figure";
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
  const times = timeTicks(courses.duration_s);
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
      ...plainLayout(theme),
      xaxis: { ...axisBelow(theme), range: [0, courses.duration_s], tickvals: times, ticktext: times.map(duration) },
      yaxis: axisBeside(theme, end, "tps"),
    },
  };
}

/** What all figures of benchmarks have in common: a surface without controls, and axes that are told where they end. */
import type { ChartTheme } from "./chart_theme";
import { axisTicks } from "./traces";
import { axisFigure } from "./values";

const AXIS = { fixedrange: true, zeroline: false, automargin: false };

export function plainLayout(theme: ChartTheme, bottom = 26): object {
  return {
    margin: { l: 52, r: 24, t: 16, b: bottom, pad: 0 },
    paper_bgcolor: theme.surface,
    plot_bgcolor: theme.surface,
    autosize: true,
    showlegend: false,
    font: { family: "Inter, system-ui, sans-serif", size: 11, color: theme["text-3"] },
    dragmode: false,
    separators: ".,",
  };
}

/** The one below: a line with a mark at each tick. */
export function axisBelow(theme: ChartTheme): object {
  return { ...AXIS, showgrid: false, showline: true, ticks: "outside", ticklen: 4, tickcolor: theme["line-strong"], linecolor: theme["line-strong"] };
}

/** The one beside, from 0 to end in its unit: a grid without a line. */
export function axisBeside(theme: ChartTheme, end: number, unit: string): object {
  const ticks = axisTicks(end);
  const ticktext = ticks.map((tick) => axisFigure(tick, unit));
  return { ...AXIS, range: [0, end * 1.001], tickvals: ticks, ticktext, showgrid: true, gridcolor: theme.line, gridwidth: 1, showline: false, ticks: "" };
}

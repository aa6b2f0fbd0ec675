/** What Plotly is told to draw of a cache under writes: its gain at each rate, and where it stops paying. Pure. */
import { logTicks } from "./break_even_figure";
import type { Figure } from "./chart_figure";
import { type ChartTheme, withAlpha } from "./chart_theme";
import { axisBelow, plainLayout } from "./figure_layout";
import { plainNumber } from "./values";
import type { AtWriteRate, WriteCurve } from "./wire";

/** null: no rate of writes was measured in this storage. storage: both for all. */
export function cacheWritesFigure(all: readonly WriteCurve[], storage: string, theme: ChartTheme): Figure | null {
  const curves = all.filter((curve) => storage === "both" || curve.storage === storage);
  const rates = curves.flatMap(written);
  const first = curves[0];
  if (first === undefined || rates.length === 0) return null;
  const ends = rates.flatMap((at) => [at.gain_low ?? at.gain, at.gain_high ?? at.gain]);
  const [least, most] = [Math.max(0.05, Math.min(0.5, ...ends) * 0.9), Math.min(50, Math.max(2, ...ends) * 1.15)];
  const places = written(first).map((at) => at.wanted_per_s);
  return {
    data: curves.map((curve, position) => drawn(curve, position, theme)),
    layout: {
      ...plainLayout(theme, 46),
      xaxis: {
        ...axisBelow(theme),
        type: "log",
        tickvals: places,
        ticktext: places.map((rate) => plainNumber(rate, 0)),
        title: { text: "Writes per second to the table that is cached", standoff: 8 },
      },
      // Half and twice are as far from 1. What scatters beyond the ends tells nothing there.
      yaxis: {
        fixedrange: true, zeroline: false, automargin: false, type: "log", range: [Math.log10(least), Math.log10(most)],
        tickvals: logTicks(least, most), ticktext: logTicks(least, most).map((tick) => `${tick} ×`), showgrid: true, gridcolor: theme.line, gridwidth: 1, showline: false, ticks: "",
      },
      shapes: [...curves.flatMap((curve, position) => limits(curve, colourOf(position, theme), first)), asWithout(theme)],
      annotations: curves.flatMap((curve) => [...(curves.length === 1 ? ratios(curve, theme) : []), ...told(curve, theme)]),
    },
  };
}

function written(curve: WriteCurve): readonly AtWriteRate[] {
  return curve.rates.filter((at) => at.writes_per_s > 0);
}

function colourOf(position: number, theme: ChartTheme): string {
  return position === 0 ? theme.accent : theme["text-2"];
}

function drawn(curve: WriteCurve, position: number, theme: ChartTheme): object {
  const rates = written(curve);
  const color = colourOf(position, theme);
  return {
    x: rates.map((at) => at.writes_per_s),
    y: rates.map((at) => at.gain),
    mode: "lines+markers",
    line: { color, width: 2, dash: position === 0 ? "solid" : "dash" },
    marker: { color, size: 8, symbol: position === 0 ? "circle" : "circle-open" },
    error_y: {
      type: "data", symmetric: false, color, thickness: 1.5, width: 4,
      array: rates.map((at) => (at.gain_high ?? at.gain) - at.gain),
      arrayminus: rates.map((at) => at.gain - (at.gain_low ?? at.gain)),
    },
    hoverinfo: "skip",
  };
}

/** The hit ratio at each rate, above its interval. */
function ratios(curve: WriteCurve, theme: ChartTheme): object[] {
  return written(curve).map((at) => ({
    x: Math.log10(at.writes_per_s), y: Math.log10(at.gain_high ?? at.gain), text: `${(at.hit_ratio * 100).toFixed(0)} % hits`, showarrow: false,
    yshift: 12, xanchor: "center", font: { color: theme["text-2"], size: 11 },
  }));
}

function asWithout(theme: ChartTheme): object {
  return { type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: theme.text, width: 1.5, dash: "dash" } };
}

/** The interval of the rate at which it stops paying; an open end reaches to the last rate that was made. */
function limits(curve: WriteCurve, color: string, first: WriteCurve): object[] {
  if (curve.per_s === null) return [];
  const places = written(first).map((at) => at.writes_per_s);
  const [x0, x1] = [curve.low ?? Math.min(...places), curve.high ?? Math.max(...places)];
  return [{ type: "rect", yref: "paper", y0: 0, y1: 1, x0, x1, fillcolor: withAlpha(color, 0.1), line: { width: 0 }, layer: "below" }];
}

function told(curve: WriteCurve, theme: ChartTheme): object[] {
  if (curve.per_s === null) return [];
  const name = curve.storage === "shmem" ? "Shared memory" : "memcached";
  const rate = plainNumber(curve.per_s, curve.per_s < 10 ? 1 : 0);
  return [
    {
      x: Math.log10(curve.per_s), y: 0, text: `<b>${name} pays up to ${rate} per s</b>`, showarrow: true, arrowhead: 0, arrowcolor: theme["text-3"],
      ax: -40, ay: curve.storage === "shmem" ? 40 : 64, xanchor: "right", font: { color: theme.text, size: 12 }, bgcolor: withAlpha(theme.surface, 0.8),
    },
  ];
}

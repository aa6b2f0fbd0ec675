/** What Plotly is told to draw of a break-even: measured pairs, the fitted curve with its band, and the crossing. Pure. */
import type { Figure } from "./chart_figure";
import { type ChartTheme, withAlpha } from "./chart_theme";
import { axisBelow, plainLayout } from "./figure_layout";
import { axisFigure } from "./values";
import type { BreakEvenCurve, CacheAnswer, CurvePoint, PublishedAnswer } from "./wire";

export type Axis = "operating" | "cumulative";

/** 1, 2 or 5 times a power of ten, from below the least to above the most. */
export function logTicks(least: number, most: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    for (const digit of [1, 2, 5]) {
      const tick = digit * 10 ** power;
      if (tick >= least && tick <= most) found.push(tick);
    }
  }
  return found;
}

export function curvesOf(answer: CacheAnswer | PublishedAnswer): readonly BreakEvenCurve[] {
  return "curves" in answer ? answer.curves : (answer.calibration?.curves ?? []);
}

/** null: nothing was measured of this storage. storage: both for all. place: where a cluster stands; null for none. */
export function breakEvenFigure(all: readonly BreakEvenCurve[], place: CacheAnswer | null, storage: string, axis: Axis, theme: ChartTheme): Figure | null {
  const curves = all.filter((curve) => storage === "both" || curve.storage === storage);
  const first = curves[0];
  if (first === undefined) return null;
  const values = curves.flatMap((curve) => [curve.no_cache_tps, ...curve.pairs.map((pair) => pair.tps), ...curve.curve.map((point) => point.tps)]);
  const [least, most] = [Math.min(...values) * 0.8, Math.max(...values) * 1.3];
  const now = place !== null && axis === "operating" && curves.length === 1 ? nowMark(place, first, theme) : { data: [], annotations: [] };
  return {
    data: [...curves.flatMap((curve, position) => drawn(curve, position, axis, theme)), ...now.data],
    layout: {
      ...plainLayout(theme, 46),
      margin: { l: 60, r: 24, t: 16, b: 46, pad: 0 },
      xaxis: {
        ...axisBelow(theme),
        range: [-0.015, 1.015],
        tickformat: ".0%",
        title: { text: axis === "operating" ? "Hit ratio of the moment" : "Hit ratio since pgpool started, of a cache that warms up", standoff: 8 },
      },
      yaxis: {
        fixedrange: true, zeroline: false, automargin: false, type: "log", range: [Math.log10(least), Math.log10(most)],
        tickvals: logTicks(least, most), ticktext: logTicks(least, most).map((tick) => axisFigure(tick, "tps")), showgrid: true, gridcolor: theme.line, gridwidth: 1, showline: false, ticks: "",
      },
      shapes: [...curves.flatMap((curve, position) => (axis === "operating" ? crossing(curve, position, theme) : [])), baseline(first, theme)],
      annotations: [...curves.flatMap((curve) => told(curve, axis, theme, curves.length > 1)), ...now.annotations],
    },
  };
}

function colourOf(position: number, theme: ChartTheme): string {
  return position === 0 ? theme.accent : theme["text-2"];
}

function drawn(curve: BreakEvenCurve, position: number, axis: Axis, theme: ChartTheme): object[] {
  const at = (point: { hit_ratio: number; cumulative_hit_ratio: number }): number => (axis === "operating" ? point.hit_ratio : point.cumulative_hit_ratio);
  const colour = colourOf(position, theme);
  const bounded = curve.curve.filter((point): point is CurvePoint & { high: number } => point.high !== null);
  return [
    {
      x: [...bounded.map(at), ...bounded.map(at).reverse()],
      y: [...bounded.map((point) => point.high), ...bounded.map((point) => point.low).reverse()],
      mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: withAlpha(colour, 0.14), hoverinfo: "skip",
    },
    {
      x: curve.pairs.map(at), y: curve.pairs.map((pair) => pair.tps), mode: "markers",
      marker: { color: withAlpha(theme["text-3"], 0.6), size: 6, symbol: position === 0 ? "circle" : "circle-open" }, hoverinfo: "skip",
    },
    { x: curve.curve.map(at), y: curve.curve.map((point) => point.tps), mode: "lines", line: { color: colour, width: 2, dash: position === 0 ? "solid" : "dash" }, hoverinfo: "skip" },
    ...crossed(curve, axis, theme),
  ];
}

/** The crossing itself, on the line of the reads without a cache. */
function crossed(curve: BreakEvenCurve, axis: Axis, theme: ChartTheme): object[] {
  const x = axis === "operating" ? curve.ratio : curve.cumulative_ratio;
  if (x === null) return [];
  return [{ x: [x], y: [curve.no_cache_tps], mode: "markers", marker: { symbol: "circle", size: 10, color: theme.surface, line: { color: theme.text, width: 1.5 } }, hoverinfo: "skip" }];
}

function baseline(curve: BreakEvenCurve, theme: ChartTheme): object {
  return { type: "line", xref: "paper", x0: 0, x1: 1, y0: curve.no_cache_tps, y1: curve.no_cache_tps, line: { color: theme.text, width: 1.5, dash: "dash" } };
}

function crossing(curve: BreakEvenCurve, position: number, theme: ChartTheme): object[] {
  if (curve.low === null || curve.high === null) return [];
  return [{ type: "rect", yref: "paper", y0: 0, y1: 1, x0: curve.low, x1: curve.high, fillcolor: withAlpha(colourOf(position, theme), 0.1), line: { width: 0 }, layer: "below" }];
}

function told(curve: BreakEvenCurve, axis: Axis, theme: ChartTheme, isOneOfTwo: boolean): object[] {
  const x = axis === "operating" ? curve.ratio : curve.cumulative_ratio;
  if (x === null) return [];
  const name = curve.storage === "shmem" ? "shared memory " : "memcached ";
  const bounds = curve.low === null || curve.high === null ? "" : `<br>95 %: ${(curve.low * 100).toFixed(0)} to ${(curve.high * 100).toFixed(0)} %`;
  const interval = axis === "operating" ? bounds : "<br>since the start";
  return [
    {
      x, y: Math.log10(curve.no_cache_tps), text: `<b>${isOneOfTwo ? name : "pays from "}${(x * 100).toFixed(0)} %</b>${interval}`, showarrow: true, arrowhead: 0, arrowcolor: theme["text-3"],
      ax: x > 0.6 ? -70 : 40, ay: curve.storage === "shmem" ? 58 : 92, xanchor: x > 0.6 ? "right" : "left", align: "left", font: { color: theme.text, size: 12 }, bgcolor: withAlpha(theme.surface, 0.8),
    },
  ];
}

/** Where the cluster stands on its own curve. */
function nowMark(answer: CacheAnswer, curve: BreakEvenCurve, theme: ChartTheme): { data: object[]; annotations: object[] } {
  const { operating_hit_ratio: x, gain } = answer;
  if (x === null || gain === null || curve.storage !== answer.storage) return { data: [], annotations: [] };
  const y = curve.no_cache_tps * gain.times;
  const times = gain.times >= 1 ? `+${((gain.times - 1) * 100).toFixed(0)} %` : `−${((1 - gain.times) * 100).toFixed(0)} %`;
  return {
    data: [{ x: [x], y: [y], mode: "markers", marker: { symbol: "diamond", color: theme.text, size: 12, line: { color: theme.surface, width: 1.5 } }, hoverinfo: "skip" }],
    annotations: [
      { x, y: Math.log10(y), text: `<b>now ${(x * 100).toFixed(0)} % hits</b><br>${times} against no cache`, showarrow: true, arrowhead: 0, arrowcolor: theme["text-3"], ax: x > 0.5 ? -60 : 40, ay: x > 0.5 ? -44 : -96, xanchor: x > 0.5 ? "right" : "left", align: "left", font: { color: theme.text, size: 12 }, bgcolor: withAlpha(theme.surface, 0.8) },
    ],
  };
}

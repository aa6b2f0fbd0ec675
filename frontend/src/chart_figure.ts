/** What Plotly is told to draw: data and layout from traces and a theme. Pure, tested without a browser. */
import { eventMarks, type Limit, limitMarks, missingMarks } from "./chart_marks";
import { type ChartTheme, isDashed, tokenOf, withAlpha } from "./chart_theme";
import { axisTicks, boundaries, clip, latestS, stackedColumns, stretches, thinned, type Trace, usualStepS, withGaps } from "./traces";
import { axisFigure, isBytes } from "./values";
import type { ChartEvent } from "./wire";

export interface Picture {
  readonly kind: "line" | "share";
  readonly traces: readonly Trace[];
  /** Wanted shares over time, one trace per node (kind share). */
  readonly wanted: readonly Trace[];
  /** Dashed below the lines: the same some time earlier. */
  readonly compared: readonly Trace[];
  /** Of several values that fall on one spot, the highest is drawn and not their mean. */
  readonly keepsPeaks: boolean;
  readonly unit: string;
  readonly startS: number;
  readonly endS: number;
  readonly axisEnd: number;
  /** Samples further apart than this have a gap between them. */
  readonly gapS: number;
  readonly events: readonly ChartEvent[];
  readonly limit: Limit | null;
}

export interface Figure {
  readonly data: readonly object[];
  readonly layout: object;
}

export const CONFIG = {
  displayModeBar: false,
  responsive: true,
  scrollZoom: false,
  doubleClick: false,
  showTips: false,
  showAxisDragHandles: false,
};

/** Shares this far apart are not worth acting on. */
const TOLERANCE = 0.03;
const TICK_STEPS_S = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400] as const;

export function figureOf(picture: Picture, theme: ChartTheme): Figure {
  const { startS } = picture;
  const traces = drawnTraces(picture);
  const clipped = { ...picture, traces, wanted: clippedTo(picture.wanted, startS), compared: clippedTo(picture.compared, startS) };
  const data = picture.kind === "share" ? shareData(clipped, theme) : lineData(clipped, theme);
  return { data, layout: layoutOf(clipped, theme) };
}

/** More spots than this per line only make noise of it. */
const LINE_POINTS = 180;

/** What of the lines is drawn: those in view; lines (not areas) with as many points as can be told apart. */
export function drawnTraces(picture: Pick<Picture, "kind" | "traces" | "startS" | "endS" | "keepsPeaks">): Trace[] {
  const inView = clippedTo(picture.traces, picture.startS);
  if (picture.kind === "share") return inView;
  const stepS = (picture.endS - picture.startS) / LINE_POINTS;
  return inView.map((trace) => ({ ...trace, points: thinned(trace.points, stepS, picture.keepsPeaks) }));
}

function clippedTo(traces: readonly Trace[], startS: number): Trace[] {
  return traces.map((trace) => ({ ...trace, points: clip(trace.points, startS) }));
}

/** The slow connection polls every 10 s: three of its polls missed are a gap, whatever the others do. */
const LEAST_GAP_S = 35;

/** To be taken from an answer, not from pushed points: those are denser than what the server thinned out. */
export function gapSOf(answered: readonly Trace[]): number {
  return Math.max(LEAST_GAP_S, ...answered.map((trace) => 3.5 * usualStepS(trace.points)));
}

function lineData(picture: Picture, theme: ChartTheme): object[] {
  const references = picture.compared.map((trace) => ({
    ...lineOf(trace, picture.gapS, { color: theme["text-3"], width: 1.25, dash: "5px,3px" }),
    hoverinfo: "skip",
  }));
  const lines = picture.traces.map((trace, position) => ({
    ...lineOf(trace, picture.gapS, {
      color: theme[tokenOf(trace, position)],
      width: 1.75,
      dash: isDashed(trace, position) ? "6px,2px" : "solid",
    }),
    hoverinfo: "none",
  }));
  return [...references, ...lines];
}

function lineOf(trace: Trace, gapS: number, line: object): object {
  const points = withGaps(trace.points, gapS);
  const x = points.map((point) => point[0] * 1000);
  return { x, y: points.map((point) => point[1]), mode: "lines", connectgaps: false, line };
}

function shareData(picture: Picture, theme: ChartTheme): object[] {
  const runs = stretches(stackedColumns(picture.traces), picture.gapS);
  const areas = picture.traces.map((trace, node) => area(runs, node, theme[tokenOf(trace, node)]));
  const edges = picture.traces.slice(0, -1).map((_, node) => edge(runs, node, { color: theme.surface, width: 2 }));
  // An unseen line on top carries the cursor.
  const cursor = { ...edge(runs, picture.traces.length - 1, { color: "rgba(0,0,0,0)", width: 0 }), hoverinfo: "none" };
  return [...areas, ...edges, ...wantedLines(picture, theme), cursor];
}

type Runs = ReturnType<typeof stretches>;

/** One polygon per stretch: along the upper boundary and back along the lower one. */
function area(runs: Runs, node: number, colour: string): object {
  const x: (number | null)[] = [];
  const y: (number | null)[] = [];
  for (const run of runs) {
    const upper = run.map((column) => boundaries(column.shares ?? [])[node] ?? 0);
    const lower = run.map((column) => (node === 0 ? 0 : (boundaries(column.shares ?? [])[node - 1] ?? 0)));
    const instants = run.map((column) => column.tS * 1000);
    x.push(...instants, ...instants.toReversed(), null);
    y.push(...upper, ...lower.toReversed(), null);
  }
  const fillcolor = withAlpha(colour, node % 2 === 0 ? 0.5 : 0.72);
  return { x, y, mode: "lines", line: { width: 0 }, fill: "toself", fillcolor, hoverinfo: "skip" };
}

function edge(runs: Runs, node: number, line: object): object {
  const columns = runs.flatMap((run) => [...run, null]);
  return {
    x: columns.map((column) => (column === null ? null : column.tS * 1000)),
    y: columns.map((column) => (column === null ? null : (boundaries(column.shares ?? [])[node] ?? null))),
    mode: "lines",
    connectgaps: false,
    line,
    hoverinfo: "skip",
  };
}

/** Where the areas should meet: dashed, with the tolerance around it as a band. */
function wantedLines(picture: Picture, theme: ChartTheme): object[] {
  const columns = stackedColumns(picture.wanted).filter((column) => column.shares !== null);
  const x = columns.map((column) => column.tS * 1000);
  return picture.wanted.slice(0, -1).flatMap((_, node) => {
    const y = columns.map((column) => boundaries(column.shares ?? [])[node] ?? 0);
    if (y.every((value) => value < 1e-9 || value > 1 - 1e-9)) return [];
    const shape = { shape: "hv" };
    return [
      { x, y: y.map((value) => Math.max(0, value - TOLERANCE)), mode: "lines", line: { width: 0, ...shape }, hoverinfo: "skip" },
      {
        x,
        y: y.map((value) => Math.min(1, value + TOLERANCE)),
        mode: "lines",
        line: { width: 0, ...shape },
        fill: "tonexty",
        fillcolor: withAlpha(theme.text, 0.16),
        hoverinfo: "skip",
      },
      { x, y, mode: "lines", line: { color: theme.text, width: 1.5, dash: "5px,3px", ...shape }, hoverinfo: "skip" },
    ];
  });
}

function layoutOf(picture: Picture, theme: ChartTheme): object {
  const marks = [
    limitMarks(picture.limit, picture.axisEnd, theme),
    eventMarks(picture.events, picture.startS, picture.endS, theme),
    missingMarks(latestS(picture.traces), picture.endS, picture.gapS, theme),
  ];
  return {
    margin: { l: 44, r: 16, t: 16, b: 26, pad: 0 },
    paper_bgcolor: theme.surface,
    plot_bgcolor: theme.surface,
    autosize: true,
    showlegend: false,
    font: { family: "Inter, system-ui, sans-serif", size: 11, color: theme["text-3"] },
    hovermode: "x",
    hoverdistance: 40,
    spikedistance: -1,
    dragmode: false,
    separators: ".,",
    uirevision: "keep",
    xaxis: xAxis(picture, theme),
    yaxis: yAxis(picture, theme),
    shapes: marks.flatMap((mark) => mark.shapes),
    annotations: marks.flatMap((mark) => mark.annotations),
  };
}

function xAxis(picture: Picture, theme: ChartTheme): object {
  const windowS = picture.endS - picture.startS;
  const stepS = TICK_STEPS_S.find((step) => windowS / step <= 6.5) ?? 86_400;
  return {
    type: "date",
    range: [picture.startS * 1000, picture.endS * 1000],
    dtick: stepS * 1000,
    tick0: 0,
    tickformat: stepS < 60 ? "%H:%M:%S" : stepS < 86_400 ? "%H:%M" : "%-d %b",
    fixedrange: true,
    showgrid: false,
    zeroline: false,
    showline: true,
    ticks: "outside",
    ticklen: 4,
    tickwidth: 1,
    tickcolor: theme["line-strong"],
    linecolor: theme["line-strong"],
    automargin: false,
    showspikes: true,
    spikemode: "across",
    spikesnap: "cursor",
    spikethickness: 1,
    spikedash: "solid",
    spikecolor: theme["text-3"],
  };
}

function yAxis(picture: Picture, theme: ChartTheme): object {
  const ticks = axisTicks(picture.axisEnd, isBytes(picture.unit));
  return {
    range: [0, picture.axisEnd * 1.001],
    tickvals: ticks,
    ticktext: ticks.map((tick) => axisFigure(tick, picture.unit)),
    fixedrange: true,
    showgrid: picture.kind === "line",
    gridcolor: theme.line,
    gridwidth: 1,
    zeroline: false,
    showline: false,
    ticks: "",
    automargin: false,
  };
}

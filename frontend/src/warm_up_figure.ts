/** What Plotly is told to draw of a cache that warms up: both ratios over time, and when each comes to the break-even. Pure. */
import type { Figure } from "./chart_figure";
import { type ChartTheme, withAlpha } from "./chart_theme";
import { axisBelow, axisBeside, plainLayout } from "./figure_layout";
import { plainNumber } from "./values";
import type { ForecastAnswer, WarmUpPoint } from "./wire";

const SPACE = "\u00a0";
const DAY_S = 86_400;
/** A unit of the axis, with how many seconds it has: largest first. */
const UNITS = [["d", DAY_S], ["h", 3600], ["min", 60], ["s", 1], ["ms", 0.001]] as const;
type Unit = (typeof UNITS)[number];
/** Marks of an axis are 1, 2 or 5 times a power of ten apart. */
const MOST_STEPS = 5.5;
/** Right of this part of the drawing a text would not fit; it stands on the left of its mark. */
const RIGHT_FROM = 0.6;

/** Of a larger unit marks would be parts. */
const LEAST_OF_A_UNIT = 5;

/** The largest of which the axis has a few. */
export function unitOf(endS: number): Unit {
  return UNITS.find(([, seconds]) => endS >= LEAST_OF_A_UNIT * seconds) ?? ["ms", 0.001];
}

/** From 0 to the end, in the unit of the axis. */
export function ticksTo(end: number): number[] {
  const power = 10 ** Math.floor(Math.log10(end / MOST_STEPS));
  const step = [1, 2, 5].map((digit) => digit * power).find((each) => end / each <= MOST_STEPS) ?? 10 * power;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, position) => Number((position * step).toPrecision(6)));
}

/** 4.2 -> 4.2 s; 130 -> 2 min 10 s: the same words as in the sentence beside. */
export function spanText(seconds: number): string {
  if (seconds < 0.005) return seconds === 0 ? `0${SPACE}s` : `less than 0.01${SPACE}s`;
  if (seconds < 9.95) return `${Number(seconds.toFixed(seconds < 0.995 ? 2 : 1))}${SPACE}s`;
  if (seconds >= 10 * DAY_S) return `${plainNumber(seconds / DAY_S, 0)}${SPACE}days`;
  const whole = Math.round(seconds);
  const days = Math.floor(whole / DAY_S);
  const counts: readonly (readonly [number, string])[] = [[days, days === 1 ? "day" : "days"], [Math.floor((whole % DAY_S) / 3600), "h"], [Math.floor((whole % 3600) / 60), "min"], [whole % 60, "s"]];
  const first = counts.findIndex(([count]) => count > 0);
  const said = counts.slice(first, first + 2).filter(([count]) => count > 0);
  return said.map(([count, unit]) => `${count}${SPACE}${unit}`).join(" ");
}

/** null: without a rate there is no time. */
export function warmUpFigure(answer: ForecastAnswer, theme: ChartTheme): Figure | null {
  const endS = answer.points.at(-1)?.at_s ?? 0;
  if (endS <= 0) return null;
  const [unit, unitS] = unitOf(endS);
  const end = endS / unitS;
  const ticks = ticksTo(end);
  const marks = [...breakEvenMarks(answer, theme), ...crossingMarks(answer, endS, unitS, theme), ...writeMarks(answer, endS, unitS, theme)];
  return {
    data: [
      line(answer.points, (point) => point.operating_hit_ratio, unitS, { color: theme.accent, width: 2 }),
      line(answer.points, (point) => point.cumulative_hit_ratio, unitS, { color: theme["text-2"], width: 2 }),
      ...crossings(answer, endS, unitS, theme),
    ],
    layout: {
      ...plainLayout(theme, 46),
      xaxis: {
        ...axisBelow(theme),
        range: [0, end * 1.001],
        tickvals: ticks,
        ticktext: ticks.map((tick) => `${tick.toLocaleString("en")}${SPACE}${unit}`),
        tickangle: 0,
        title: { text: "Time since the cache was empty", standoff: 8 },
      },
      yaxis: { ...axisBeside(theme, 1, "share"), range: [0, 1.02] },
      shapes: marks.flatMap((mark) => mark.shapes),
      annotations: marks.flatMap((mark) => mark.annotations),
    },
  };
}

interface Mark {
  readonly shapes: readonly object[];
  readonly annotations: readonly object[];
}

function line(points: readonly WarmUpPoint[], ratio: (point: WarmUpPoint) => number, unitS: number, look: object): object {
  return { x: points.map((point) => point.at_s / unitS), y: points.map(ratio), mode: "lines", line: look, hoverinfo: "skip" };
}

/** Of the break-even the line with its interval. */
function breakEvenMarks({ break_even: found }: ForecastAnswer, theme: ChartTheme): Mark[] {
  if (found === null) return [];
  const across = { xref: "paper", x0: 0, x1: 1 };
  const band = { type: "rect", ...across, y0: found.low, y1: found.high, fillcolor: withAlpha(theme.accent, 0.1), line: { width: 0 }, layer: "below" };
  return [{ shapes: [band, { type: "line", ...across, y0: found.ratio, y1: found.ratio, line: { color: theme.text, width: 1.5, dash: "dash" } }], annotations: [] }];
}

/** Where a ratio comes to the break-even, if that is within the drawing. */
function crossings({ break_even: found, reaches_after_s: reachesS, shown_after_s: shownS }: ForecastAnswer, endS: number, unitS: number, theme: ChartTheme): object[] {
  if (found === null) return [];
  const at = (afterS: number | null, colour: string): object[] =>
    afterS === null || afterS > endS ? [] : [{ x: [afterS / unitS], y: [found.ratio], mode: "markers", marker: { color: colour, size: 10, line: { color: theme.surface, width: 1.5 } }, hoverinfo: "skip" }];
  return [...at(reachesS, theme.accent), ...at(shownS, theme["text-2"])];
}

/** Up from the one of the moment, where nothing else is drawn; down from the one since the start. */
function crossingMarks({ break_even: found, reaches_after_s: reachesS, shown_after_s: shownS }: ForecastAnswer, endS: number, unitS: number, theme: ChartTheme): Mark[] {
  if (found === null) return [];
  return [
    ...dropped(reachesS, endS, unitS, [found.ratio, 0.9], { y: 1.02, yanchor: "top", text: `<b>pays after ${spanText(reachesS ?? 0)}</b>` }, theme),
    ...dropped(shownS, endS, unitS, [0, found.ratio], { y: 0.02, yanchor: "bottom", text: `shown after ${spanText(shownS ?? 0)}` }, theme),
  ];
}

/** What a cache that the next write empties never comes to. */
function writeMarks({ between_writes: writes }: ForecastAnswer, endS: number, unitS: number, theme: ChartTheme): Mark[] {
  if (writes === null || writes.write_every_s >= endS) return [];
  const x = writes.write_every_s / unitS;
  const never = { type: "rect", x0: x, x1: endS / unitS, yref: "paper", y0: 0, y1: 1, fillcolor: withAlpha(theme["warn-mark"], 0.1), line: { width: 0 }, layer: "below" };
  const write = { type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: theme["warn-mark"], width: 1.5 } };
  return [{ shapes: [never, write], annotations: [] }];
}

function dropped(afterS: number | null, endS: number, unitS: number, [from, to]: readonly [number, number], words: object, theme: ChartTheme): Mark[] {
  if (afterS === null || afterS > endS) return [];
  const x = afterS / unitS;
  const side = afterS > RIGHT_FROM * endS ? { xanchor: "right", xshift: -6 } : { xanchor: "left", xshift: 6 };
  return [
    {
      shapes: [{ type: "line", x0: x, x1: x, y0: from, y1: to, line: { color: theme["text-3"], width: 1, dash: "2px,3px" } }],
      annotations: [{ x, ...side, ...words, showarrow: false, font: { color: theme.text, size: 12 }, bgcolor: withAlpha(theme.surface, 0.8) }],
    },
  ];
}

/** Marks on a chart: events, a limit that means something, and time without data. */
import { type ChartTheme, withAlpha } from "./chart_theme";
import type { ChartEvent } from "./wire";

export interface Limit {
  readonly value: number;
  readonly text: string;
}

export interface Marks {
  readonly shapes: readonly object[];
  readonly annotations: readonly object[];
}

const NO_MARKS: Marks = { shapes: [], annotations: [] };

/** Events whose letters would cover one another, or be too many, share a box: "B–D". */
export interface EventGroup {
  readonly label: string;
  readonly events: readonly ChartEvent[];
}

const MOST_BOXES = 6;
/** Widths of a box as parts of the chart's width: one letter, and two with a dash. */
const LETTER_WIDTH = 0.05;
const RANGE_WIDTH = 0.09;

export function grouped(events: readonly ChartEvent[], windowS: number): EventGroup[] {
  const byTime = events.toSorted((one, other) => one.t - other.t || one.letter.localeCompare(other.letter));
  let groups = byTime.map((event) => groupOf([event]));
  for (;;) {
    const spaces = groups.slice(1).map((group, index) => spaceS(groups[index] ?? group, group, windowS));
    const narrowest = Math.min(...spaces);
    if (!(narrowest < 0) && groups.length <= MOST_BOXES) return groups;
    const first = spaces.indexOf(narrowest);
    const joined = groupOf(groups.slice(first, first + 2).flatMap((group) => group.events));
    groups = groups.toSpliced(first, 2, joined);
  }
}

function widthS(group: EventGroup, windowS: number): number {
  return (group.events.length > 1 ? RANGE_WIDTH : LETTER_WIDTH) * windowS;
}

function groupOf(events: readonly ChartEvent[]): EventGroup {
  const letters = [...new Set([events[0]?.letter ?? "", events.at(-1)?.letter ?? ""])];
  return { events, label: letters.join("–") };
}

function centreS(group: EventGroup): number {
  return ((group.events[0]?.t ?? 0) + (group.events.at(-1)?.t ?? 0)) / 2;
}

/** Seconds left between two boxes; below 0 they cover one another. */
function spaceS(one: EventGroup, other: EventGroup, windowS: number): number {
  return centreS(other) - centreS(one) - (widthS(one, windowS) + widthS(other, windowS)) / 2;
}

/** A dotted line per event, and its letter at the top edge. */
export function eventMarks(events: readonly ChartEvent[], startS: number, endS: number, theme: ChartTheme): Marks {
  const seen = events.filter((event) => event.t >= startS && event.t <= endS);
  const shapes = seen.map((event) => ({
    type: "line",
    xref: "x",
    yref: "paper",
    x0: event.t * 1000,
    x1: event.t * 1000,
    y0: 0,
    y1: 1,
    line: { color: theme["text-3"], width: 1, dash: "2px,3px" },
  }));
  const windowS = endS - startS;
  // A box stays inside the chart: beside it stand the figures of the axis.
  const inside = (group: EventGroup): number =>
    Math.min(Math.max(centreS(group), startS + widthS(group, windowS) / 2), endS - widthS(group, windowS) / 2);
  const annotations = grouped(seen, windowS).map((group) => ({
    x: inside(group) * 1000,
    y: 1,
    xref: "x",
    yref: "paper",
    text: `<b>${group.label}</b>`,
    showarrow: false,
    yanchor: "middle",
    bgcolor: theme.surface,
    bordercolor: theme["text-3"],
    borderwidth: 1,
    borderpad: 2,
    font: { size: 10, color: theme.text },
  }));
  return { shapes, annotations };
}

export function limitMarks(limit: Limit | null, axisEnd: number, theme: ChartTheme): Marks {
  // A limit far above the data would flatten the chart; it is drawn once the axis has grown up to it.
  if (limit === null || limit.value > axisEnd) return NO_MARKS;
  const line = { color: theme["warn-mark"], width: 1.25, dash: "5px,3px" };
  const shape = { type: "line", xref: "paper", x0: 0, x1: 1, y0: limit.value, y1: limit.value, line };
  const annotation = {
    xref: "paper",
    x: 0,
    y: limit.value,
    xanchor: "left",
    yanchor: "top",
    text: limit.text,
    showarrow: false,
    bgcolor: theme.surface,
    font: { size: 11, color: theme.warn },
  };
  return { shapes: [shape], annotations: [annotation] };
}

/** Where the lines end before the window does, the rest says that nothing is known. */
export function missingMarks(latestS: number | null, endS: number, longestStepS: number, theme: ChartTheme): Marks {
  if (latestS === null || endS - latestS <= longestStepS) return NO_MARKS;
  const shape = {
    type: "rect",
    xref: "x",
    yref: "paper",
    x0: latestS * 1000,
    x1: endS * 1000,
    y0: 0,
    y1: 1,
    line: { width: 0 },
    fillcolor: withAlpha(theme["warn-mark"], 0.1),
  };
  const annotation = {
    x: ((latestS + endS) / 2) * 1000,
    y: 0.5,
    xref: "x",
    yref: "paper",
    text: "no data",
    showarrow: false,
    font: { size: 11, color: theme.warn },
  };
  return { shapes: [shape], annotations: [annotation] };
}

/** What one chart holds: answers of the series API, and the pushed points behind them. */
import { gapSOf } from "./chart_figure";
import { fetchSeries, seriesUrl } from "./series_request";
import { append, carryOver, latestS, shifted, type Trace, tracesOf } from "./traces";
import type { PointsMessage, SeriesAnswer } from "./wire";

/** What a chart asks for; an empty metric is not asked for. */
export interface Wishes {
  readonly source: string;
  readonly metric: string;
  readonly windowS: number;
  /** Wanted shares (kind share). */
  readonly wantedMetric: string;
  /** The same in another unit, for the readout. */
  readonly besideMetric: string;
  /** Draw what was there so many seconds earlier as well; 0: do not. */
  readonly compareS: number;
  readonly compareLabel: string;
  /** What the line of the whole cluster is called. */
  readonly subject: string;
}

export interface Feed {
  readonly traces: readonly Trace[];
  readonly wanted: readonly Trace[];
  readonly beside: readonly Trace[];
  /** Moved to the instants they are compared with; none where nothing was stored then. */
  readonly compared: readonly Trace[];
  readonly unit: string;
  readonly besideUnit: string;
  readonly endS: number;
  readonly gapS: number;
}

export const NOTHING_YET: Feed = { traces: [], wanted: [], beside: [], compared: [], unit: "", besideUnit: "", endS: 0, gapS: 0 };
/** The reference reaches further than now, so that it need not be asked for at every point. */
const AHEAD_S = 180;

/** Raises SeriesUnavailable. */
export async function fetchFeed(wishes: Wishes, nowS: number, signal: AbortSignal): Promise<Feed> {
  const { source, metric, windowS, wantedMetric, besideMetric, compareS } = wishes;
  const startS = nowS - windowS;
  const ask = async (name: string): Promise<SeriesAnswer | null> =>
    name === "" ? null : fetchSeries(seriesUrl(source, location.href, name, startS), signal);
  const askEarlier = async (): Promise<SeriesAnswer | null> =>
    compareS === 0 ? null : fetchSeries(seriesUrl(source, location.href, metric, startS - compareS, nowS - compareS + AHEAD_S), signal);
  const [answer, wanted, beside, earlier] = await Promise.all([
    fetchSeries(seriesUrl(source, location.href, metric, startS), signal),
    ask(wantedMetric),
    ask(besideMetric),
    askEarlier(),
  ]);
  const traces = tracesOf(answer);
  return {
    traces: named(traces, wishes.subject),
    wanted: wanted ? tracesOf(wanted) : [],
    beside: beside ? tracesOf(beside) : [],
    compared: earlier ? shifted(named(tracesOf(earlier), wishes.compareLabel), compareS) : [],
    unit: answer.unit,
    besideUnit: beside?.unit ?? "",
    endS: Math.max(answer.end, latestS(traces) ?? 0),
    gapS: gapSOf(traces),
  };
}

function named(traces: readonly Trace[], subject: string): Trace[] {
  const isWhole = (trace: Trace): boolean => trace.nodeId === null && trace.instance === null;
  return traces.map((trace) => (subject !== "" && isWhole(trace) ? { ...trace, name: subject } : trace));
}

/** The answer, with what was pushed while it was under way. */
export function carriedOver(fetched: Feed, held: Feed): Feed {
  const traces = carryOver(fetched.traces, held.traces);
  return {
    ...fetched,
    traces,
    wanted: carryOver(fetched.wanted, held.wanted),
    beside: carryOver(fetched.beside, held.beside),
    endS: Math.max(fetched.endS, latestS(traces) ?? 0),
  };
}

export function withPushed(feed: Feed, wishes: Wishes, points: PointsMessage["points"]): Feed {
  const traces = append(feed.traces, points[wishes.metric] ?? []);
  return {
    ...feed,
    traces,
    wanted: append(feed.wanted, points[wishes.wantedMetric] ?? []),
    beside: append(feed.beside, points[wishes.besideMetric] ?? []),
    endS: Math.max(feed.endS, latestS(traces) ?? 0),
  };
}

/** Arithmetic of time series: merging, windows, gaps, axes. No browser, no clock. */
import type { Point, PushedPoint, Series, SeriesAnswer } from "./wire";

/** One line of a chart. `key` is what makes it the same line from one message to the next. */
export interface Trace {
  readonly key: string;
  readonly nodeId: number | null;
  readonly instance: string | null;
  readonly name: string;
  readonly points: readonly Point[];
}

export function keyOf(source: { readonly node_id?: number | null; readonly instance?: string | null }): string {
  return `${source.node_id ?? ""}@${source.instance ?? ""}`;
}

/** The traces of an answer, by instance and node, so that colours and order never change. */
export function tracesOf(answer: SeriesAnswer): Trace[] {
  return answer.series.map(traceOf).sort(byNode);
}

function traceOf(series: Series): Trace {
  const { node_id: nodeId = null, instance = null, name, points } = series;
  return { key: keyOf(series), nodeId, instance, name, points };
}

function byNode(one: Trace, other: Trace): number {
  return (one.nodeId ?? -1) - (other.nodeId ?? -1) || (one.instance ?? "").localeCompare(other.instance ?? "");
}

/** Append what was pushed. A point that is not newer than the last is already there. */
export function append(traces: readonly Trace[], pushed: readonly PushedPoint[]): Trace[] {
  return traces.map((trace) => {
    const latestS = trace.points.at(-1)?.[0] ?? -Infinity;
    const fresh = pushed.filter((push) => keyOf(push) === trace.key && push.point[0] > latestS).map((push) => push.point);
    return fresh.length === 0 ? trace : { ...trace, points: [...trace.points, ...fresh] };
  });
}

/** Put newer pushed points behind an answer that was under way while they came in. */
export function carryOver(fetched: readonly Trace[], held: readonly Trace[]): Trace[] {
  const pushed = held.flatMap((trace) =>
    trace.points.map((point) => ({ node_id: trace.nodeId, instance: trace.instance, point })),
  );
  return append(fetched, pushed);
}

export function clip(points: readonly Point[], startS: number): Point[] {
  // One point left of the window is kept, so that the line enters from the edge.
  const first = points.findIndex((point) => point[0] >= startS);
  return first === -1 ? [] : points.slice(Math.max(0, first - 1));
}

/** The same lines some time later, as a reference for then; lines without a single value are left out. */
export function shifted(traces: readonly Trace[], byS: number): Trace[] {
  return traces
    .filter((trace) => trace.points.some((point) => point[1] !== null))
    .map((trace) => ({ ...trace, key: `${trace.key}~`, points: trace.points.map(([tS, value]) => [tS + byS, value] as const) }));
}

/**
 * One point per step: the mean of its values, or the highest where peaks count. A step that ends unknown ends in a
 * gap. Steps are counted from 1970, so that a point stays what it is while the window moves on.
 */
export function thinned(points: readonly Point[], stepS: number, keepsPeaks: boolean): Point[] {
  const steps = new Map<number, Point[]>();
  for (const point of points) {
    const step = Math.floor(point[0] / stepS);
    const held = steps.get(step);
    if (held) held.push(point);
    else steps.set(step, [point]);
  }
  return [...steps.values()].flatMap((held) => stepPoints(held, keepsPeaks));
}

function stepPoints(held: readonly Point[], keepsPeaks: boolean): Point[] {
  const latest = held.at(-1);
  const values = held.flatMap((point) => point[1] ?? []);
  const latestKnown = held.findLast((point) => point[1] !== null);
  if (latest === undefined || latestKnown === undefined) return latest ? [latest] : [];
  const value = keepsPeaks ? Math.max(...values) : values.reduce((sum, one) => sum + one, 0) / values.length;
  const drawn: Point = [latestKnown[0], value];
  return latest[1] === null ? [drawn, latest] : [drawn];
}

export function latestS(traces: readonly Trace[]): number | null {
  const instants = traces.flatMap((trace) => trace.points.at(-1)?.[0] ?? []);
  return instants.length === 0 ? null : Math.max(...instants);
}

/** The usual distance of two points, in seconds; 2 where that cannot be told. */
export function usualStepS(points: readonly Point[]): number {
  const steps = points.slice(1).map((point, index) => point[0] - (points[index]?.[0] ?? point[0]));
  const sorted = steps.filter((step) => step > 0).sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 2;
}

/** Where samples are missing a null is put in, so that a gap is drawn as a gap. */
export function withGaps(points: readonly Point[], longestStepS: number): Point[] {
  return points.flatMap((point, index) => {
    const before = points[index - 1];
    const isGap = before !== undefined && point[0] - before[0] > longestStepS;
    return isGap ? [[before[0] + longestStepS / 2, null] as Point, point] : [point];
  });
}

/** The value at an instant: the last known one at or before it, as a reader of the chart sees it. */
export function valueAt(points: readonly Point[], tS: number): number | null {
  return points.findLast((point) => point[0] <= tS)?.[1] ?? null;
}

/** One column per instant: the shares of all nodes scaled to 1, or null where nobody was read from. */
export interface StackedColumn {
  readonly tS: number;
  readonly shares: readonly number[] | null;
}

/** Line the traces up by instant. A node without a value beside nodes with one took none of the reads. */
export function stackedColumns(traces: readonly Trace[]): StackedColumn[] {
  const instants = [...new Set(traces.flatMap((trace) => trace.points.map((point) => point[0])))].sort((a, b) => a - b);
  const byInstant = traces.map((trace) => new Map(trace.points));
  return instants.map((tS) => {
    const values = byInstant.map((values) => values.get(tS) ?? 0);
    const total = values.reduce((sum, value) => sum + value, 0);
    return { tS, shares: total > 0 ? values.map((value) => value / total) : null };
  });
}

/** Split into the stretches in which every column is known. */
export function stretches(columns: readonly StackedColumn[], longestStepS: number): StackedColumn[][] {
  const result: StackedColumn[][] = [];
  let before: StackedColumn | undefined;
  for (const column of columns) {
    if (column.shares !== null) {
      const goesOn = before?.shares && column.tS - before.tS <= longestStepS;
      if (goesOn) result.at(-1)?.push(column);
      else result.push([column]);
    }
    before = column;
  }
  return result;
}

/** The shares up to and including each node: where its area ends. */
export function boundaries(shares: readonly number[]): number[] {
  let sum = 0;
  return shares.map((share) => (sum += share));
}

/** The end of an axis: the next of 1, 2, 5, 10, … not below the value; for bytes the next power of two. */
export function axisEnd(highest: number, leastEnd: number, isBytes = false): number {
  if (!(highest > leastEnd)) return leastEnd;
  if (isBytes) return 2 ** Math.ceil(Math.log2(highest));
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 2, 5, 10].map((step) => step * power).find((end) => end >= highest) ?? 10 * power;
}

/** An end that grows and never shrinks while the page is open, so that nothing jumps. */
export function grownEnd(traces: readonly Trace[], currentEnd: number, isBytes = false): number {
  const values = traces.flatMap((trace) => trace.points.flatMap((point) => point[1] ?? []));
  return values.reduce((end, value) => (value > end ? axisEnd(value, end, isBytes) : end), currentEnd);
}

/** Three or four marks from 0 to the end. */
export function axisTicks(end: number, isBytes = false): number[] {
  const power = 10 ** Math.floor(Math.log10(end) + 1e-9);
  const parts = !isBytes && Math.round(end / power) === 5 ? 5 : 2;
  const count = parts === 5 ? [0, 2, 4] : [0, 1, 2];
  return count.map((step) => (end / parts) * step);
}

/** At most `rows` instants of a trace, newest first, for the table beside the drawing. */
export function tableInstants(traces: readonly Trace[], rows: number): number[] {
  const instants = [...new Set(traces.flatMap((trace) => trace.points.map((point) => point[0])))].sort((a, b) => b - a);
  const step = Math.max(1, Math.ceil(instants.length / rows));
  return instants.filter((_, index) => index % step === 0);
}

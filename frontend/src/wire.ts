/** The shapes that travel: answers of the series API and messages of the live socket. */

/** Instant in seconds since 1970 UTC, and the value; null where nothing could be read. */
export type Point = readonly [tS: number, value: number | null];

/** One line of a chart: of a backend (node_id), of a pgpool (instance) or of the whole cluster (neither). */
export interface Series {
  readonly node_id?: number;
  readonly instance?: string;
  readonly name: string;
  readonly points: readonly Point[];
}

export interface SeriesAnswer {
  readonly metric: string;
  readonly unit: string;
  readonly series: readonly Series[];
  readonly start: number;
  readonly end: number;
}

export interface PushedPoint {
  readonly node_id?: number | null;
  readonly instance?: string | null;
  readonly point: Point;
}

export interface PointsMessage {
  readonly topic: string;
  /** Lease epoch and tick: a tick that does not follow the one before is a gap. */
  readonly seq: readonly [epoch: number, tick: number];
  readonly points: Readonly<Record<string, readonly PushedPoint[]>>;
}

export interface FactMessage {
  /** "live" where it is about the connection itself. */
  readonly topic: string;
  readonly fact: string;
  readonly [fact: string]: unknown;
}

export type LiveMessage = PointsMessage | FactMessage;

/** An event that charts mark with a letter. */
export interface ChartEvent {
  readonly letter: string;
  readonly t: number;
  readonly text: string;
}

/** A second of a benchmark run, or a stretch of `step_s` seconds that ends at at_s; the mean and its interval until then. */
export interface CoursePoint {
  readonly at_s: number;
  readonly tps: number;
  readonly latency_ms: number | null;
  readonly mean_tps: number;
  readonly low_tps: number | null;
  readonly high_tps: number | null;
}

/** What the cluster did beside a run: of a backend, or of the whole cluster. */
export interface BesideLine {
  readonly metric: string;
  readonly unit: string;
  readonly node_id: number | null;
  readonly name: string;
  readonly points: readonly Point[];
}

export interface CourseAnswer {
  readonly run: number;
  readonly state: string;
  readonly is_active: boolean;
  readonly duration_s: number;
  readonly step_s: number;
  readonly points: readonly CoursePoint[];
  readonly beside: readonly BesideLine[];
}

/** points: (seconds since a measurement began, mean rate of the arm's runs in tps). */
export interface ArmCourse {
  readonly label: string;
  readonly is_baseline: boolean;
  readonly points: readonly (readonly [number, number])[];
}

export interface CoursesAnswer {
  readonly comparison: number;
  readonly duration_s: number;
  readonly step_s: number;
  readonly arms: readonly ArmCourse[];
}

export function isCoursesAnswer(value: unknown): value is CoursesAnswer {
  return typeof value === "object" && value !== null && Array.isArray((value as { arms?: unknown }).arms);
}

/** One place of a sweep: its typical rate in tps, with the ends of its 95 % interval. limit: "clients", "throttle" or "". */
export interface PointAnswer {
  readonly x: number;
  readonly tps: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly limit: string;
}

export interface DoublingAnswer {
  readonly percent: number;
  readonly low: number;
  readonly high: number;
}

export interface SweepAnswer {
  readonly points: readonly PointAnswer[];
  readonly best_x: number;
  readonly rivals: readonly number[];
  readonly is_bracketed: boolean;
  readonly doubling: DoublingAnswer | null;
  readonly sentence: string;
}

/** An arm in one round of a campaign: its typical rate in tps, with the ends of its 95 % interval. */
export interface TrendPoint {
  readonly tps: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** "none", "too_early", "suspected" or "confirmed"; "" without a figure. */
  readonly change: string;
  readonly change_percent: number | null;
  readonly limit_percent: number | null;
  /** What it was measured under that was another before. */
  readonly moved: readonly string[];
}

export interface RoundAnswer {
  readonly id: number;
  readonly kind: string;
  readonly due_at: string;
  readonly comparison: number | null;
  readonly state: string;
  readonly reason: string;
  readonly trend: readonly TrendPoint[];
}

/** Of a campaign, what is drawn; the latest round comes first. */
export interface TrendAnswer {
  readonly arms: readonly string[];
  readonly baseline: number;
  readonly sentence: string;
  readonly rounds: readonly RoundAnswer[];
}

export interface PairAnswer {
  readonly hit_ratio: number;
  readonly cumulative_hit_ratio: number;
  readonly tps: number;
}

export interface CurvePoint {
  readonly hit_ratio: number;
  readonly cumulative_hit_ratio: number;
  readonly tps: number;
  readonly low: number;
  readonly high: number | null;
}

export interface BreakEvenCurve {
  readonly storage: string;
  readonly state: string;
  readonly sentence: string;
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly cumulative_ratio: number | null;
  readonly relative_miss_cost: number | null;
  readonly relative_hit_cost: number | null;
  readonly no_cache_tps: number;
  readonly peak_tps: number;
  readonly pairs: readonly PairAnswer[];
  readonly curve: readonly CurvePoint[];
}

export interface AtWriteRate {
  readonly wanted_per_s: number;
  readonly writes_per_s: number;
  readonly hit_ratio: number;
  readonly tps: number;
  readonly no_cache_tps: number;
  readonly gain: number;
  readonly gain_low: number | null;
  readonly gain_high: number | null;
  readonly write_latency_ms: number | null;
  readonly no_cache_write_latency_ms: number | null;
  readonly kept_keys: number;
  readonly stale_keys: number;
}

export interface WriteCurve {
  readonly storage: string;
  readonly state: string;
  readonly sentence: string;
  readonly per_s: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly kept_keys: number;
  readonly stale_keys: number;
  readonly rates: readonly AtWriteRate[];
}

export interface UnderWrites {
  readonly run: number;
  readonly finished_at: string | null;
  readonly sql: string;
  readonly write: string;
  readonly hot_keys: number;
  readonly clients: number;
  readonly curves: readonly WriteCurve[];
}

export interface CalibrationAnswer {
  readonly run: number;
  readonly state: string;
  readonly is_active: boolean;
  readonly phase: string;
  readonly error: string;
  readonly pgpool: string;
  readonly sql: string;
  readonly key_space: number;
  readonly hot_keys: number;
  readonly clients: number;
  readonly duration_s: number;
  readonly writes_up_to_per_s: number | null;
  readonly measured_s: number | null;
  readonly requested_by: string;
  readonly created_at: string;
  readonly measured_at: string | null;
  readonly finished_at: string | null;
  readonly curves: readonly BreakEvenCurve[];
}

export interface PublishedAnswer {
  readonly title: string;
  readonly source: string;
  readonly curves: readonly BreakEvenCurve[];
  readonly reasoning: readonly string[];
}

export interface Sizes {
  readonly hit_count: number;
  readonly miss_count: number;
  readonly hash_entries: number;
  readonly used_hash_entries: number;
  readonly entries: number;
  readonly used_bytes: number;
  readonly free_bytes: number;
  readonly fragment_bytes: number;
}

export interface MemcachedAnswer {
  readonly state: string;
  readonly reason: string;
  readonly place: string;
  readonly since: string;
  readonly asked_at: string;
  readonly items: number | null;
  readonly used_bytes: number | null;
  readonly limit_bytes: number | null;
  readonly evictions: number | null;
  readonly uptime_s: number | null;
}

export interface MemcachedNote {
  readonly state: string;
  readonly place: string;
  readonly pgpools: readonly string[];
  readonly since: string;
  readonly headline: string;
  readonly sentence: string;
}

export interface PgpoolCache {
  readonly name: string;
  readonly version: string;
  readonly is_on: boolean | null;
  readonly method: string;
  readonly memcached: string;
  readonly total_size: string;
  readonly expire_s: number;
  readonly hits: number | null;
  readonly misses: number | null;
  readonly reads: number | null;
  readonly counted_twice: number | null;
  readonly operating_hit_ratio: number | null;
  readonly counted_hit_ratio: number | null;
  readonly cumulative_hit_ratio: number | null;
  readonly absorbed_share: number | null;
  readonly dropped_entries: number | null;
  readonly is_restarted: boolean;
  readonly seen_at: string | null;
  readonly sizes: Sizes | null;
  readonly memcached_state: MemcachedAnswer | null;
  readonly reason: string;
}

export interface BreakEvenAnswer {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

export interface GainAnswer {
  readonly times: number;
  readonly low: number;
  readonly high: number | null;
}

export interface VerdictAnswer {
  readonly state: string;
  readonly sentence: string;
  readonly why: string;
}

export interface RiskAnswer {
  readonly key: string;
  readonly sentence: string;
}

export interface DraftWish {
  readonly pgpool: string | null;
  readonly parameter: string;
  readonly value: string;
}

export interface AdviceStep {
  readonly pgpool: string;
  readonly parameter: string;
  readonly value: string;
  readonly line: string;
  readonly file: string;
  readonly where: string;
  readonly command: string;
}

export interface AdviceAnswer {
  readonly key: string;
  readonly sentence: string;
  readonly parameter: string;
  readonly value: string | null;
  readonly needs_restart: boolean;
  readonly asks: string;
  readonly steps: readonly AdviceStep[];
  readonly drafts: readonly DraftWish[];
  readonly no_draft: string;
}

export interface CacheAnswer {
  readonly window_s: number;
  readonly operating_hit_ratio: number | null;
  readonly cumulative_hit_ratio: number | null;
  readonly absorbed_share: number | null;
  readonly hits: number | null;
  readonly misses: number | null;
  readonly reads: number | null;
  readonly counted_twice: number | null;
  readonly storage: string;
  readonly break_even: BreakEvenAnswer | null;
  readonly margin: number | null;
  readonly gain: GainAnswer | null;
  readonly verdict: VerdictAnswer;
  readonly pgpools: readonly PgpoolCache[];
  readonly risks: readonly RiskAnswer[];
  readonly memcached_notes: readonly MemcachedNote[];
  readonly advice: readonly AdviceAnswer[];
  readonly calibration: CalibrationAnswer | null;
  readonly under_writes: UnderWrites | null;
}

export interface WarmUpPoint {
  readonly at_s: number;
  readonly operating_hit_ratio: number;
  readonly cumulative_hit_ratio: number;
}

export interface LossAnswer {
  readonly mean_cost: number;
  readonly reads: number;
}

export interface BetweenWritesAnswer {
  readonly write_every_s: number;
  readonly reads: number;
  readonly mean_operating_hit_ratio: number;
  readonly at_random_hit_ratio: number;
  readonly state: string;
  readonly pays_from_every_s: number | null;
  readonly pays_from_every_low_s: number | null;
  readonly pays_from_every_high_s: number | null;
  readonly pays_from_random_every_s: number | null;
  readonly sentence: string;
}

export interface ForecastAnswer {
  readonly keys: number;
  readonly keys_from: string;
  readonly per_s: number | null;
  readonly per_s_from: string;
  readonly cache: string;
  readonly storage: string;
  readonly is_on: boolean | null;
  readonly points: readonly WarmUpPoint[];
  readonly break_even: BreakEvenAnswer | null;
  readonly reaches_after_s: number | null;
  readonly reaches_after_low_s: number | null;
  readonly reaches_after_high_s: number | null;
  readonly shown_after_s: number | null;
  readonly warm_after_s: number | null;
  readonly lost: LossAnswer | null;
  readonly between_writes: BetweenWritesAnswer | null;
  readonly sentence: string;
  readonly why: readonly string[];
}

export function isTrendAnswer(value: unknown): value is TrendAnswer {
  return typeof value === "object" && value !== null && Array.isArray((value as { rounds?: unknown }).rounds);
}

export function isPoints(message: LiveMessage): message is PointsMessage {
  return "points" in message;
}

/** Read one frame of the socket; null for anything that is not a message of ours. */
export function readMessage(text: string): LiveMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const isMessage = "points" in value ? "seq" in value && "topic" in value : "fact" in value;
  return isMessage ? (value as LiveMessage) : null;
}

export function isSeriesAnswer(value: unknown): value is SeriesAnswer {
  return typeof value === "object" && value !== null && Array.isArray((value as { series?: unknown }).series);
}

/** A comparison, of which only the sweep is drawn; null while too few places have a figure. */
export function isSweepAnswer(value: unknown): value is { readonly sweep: SweepAnswer | null } {
  return typeof value === "object" && value !== null && "sweep" in value;
}

export function isCourseAnswer(value: unknown): value is CourseAnswer {
  return typeof value === "object" && value !== null && Array.isArray((value as { points?: unknown }).points);
}

export function isCacheAnswer(value: unknown): value is CacheAnswer {
  return typeof value === "object" && value !== null && Array.isArray((value as { pgpools?: unknown }).pgpools);
}

export function isForecastAnswer(value: unknown): value is ForecastAnswer {
  return typeof value === "object" && value !== null && "per_s_from" in value && Array.isArray((value as { points?: unknown }).points);
}

export function isPublishedAnswer(value: unknown): value is PublishedAnswer {
  return typeof value === "object" && value !== null && Array.isArray((value as { curves?: unknown }).curves);
}

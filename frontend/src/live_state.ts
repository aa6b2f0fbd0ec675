/** When a page may call itself live: decisions only, no socket and no clock. */

export type LiveState = "connecting" | "live" | "reconnecting" | "stale" | "offline";

/** Nothing heard for this long: the connection is taken for dead. */
export const SILENT_AFTER_S = 10;
/** What the page shows is old. The server calls a cluster out of sight after the same time (queries/health.py). */
export const STALE_AFTER_S = 15;

export interface Evidence {
  readonly isOnline: boolean;
  readonly isOpen: boolean;
  /** Since the latest message of any kind, or since the page began to connect. */
  readonly silentS: number;
  /** Age of the data; null while the page has none that could grow old. */
  readonly dataAgeS: number | null;
  readonly hasHeard: boolean;
}

export function liveState(evidence: Evidence): LiveState {
  if (!evidence.isOnline) return "offline";
  if (evidence.dataAgeS !== null && evidence.dataAgeS > STALE_AFTER_S) return "stale";
  if (evidence.silentS > SILENT_AFTER_S) return "reconnecting";
  if (evidence.isOpen) return "live";
  return evidence.hasHeard ? "reconnecting" : "connecting";
}

/** Seconds until the next attempt: 1, 2, 4, 8, then 15, spread so that not every page knocks at once. */
export function backoffS(attempt: number, random: number): number {
  return Math.min(15, 2 ** attempt) * (0.75 + random / 2);
}

/** Watches the sequence numbers of each topic. */
export class SequenceWatch {
  private readonly latest = new Map<string, readonly [number, number]>();

  /** Take one number; true when something between it and the one before is missing. */
  isGap(topic: string, seq: readonly [epoch: number, tick: number]): boolean {
    const before = this.latest.get(topic);
    this.latest.set(topic, seq);
    if (before === undefined) return false;
    return seq[0] !== before[0] || seq[1] > before[1] + 1;
  }
}

/**
 * The page's one websocket. Pushed points and facts become events on <body>: `series-points`, `series-gap`, and one
 * named as the fact (`sampled`, `rollout`, …), at most every 2 s each, on which htmx refetches fragments.
 * While the socket is silent the facts are fired every 10 s, so that the page goes on without it. What does not come
 * again by itself is fired once when the socket is first heard: it may have happened since the page was written.
 */
import { backoffS, liveState, type LiveState, SequenceWatch, SILENT_AFTER_S } from "./live_state";
import { type FactMessage, isPoints, type PointsMessage, readMessage } from "./wire";

const FACT_INTERVAL_MS = 2000;
const FALLBACK_INTERVAL_MS = 10_000;
const RARE_FACTS = ["rollout", "run", "comparison", "event", "fleet-changed", "writes"] as const;
const FALLBACK_FACTS = ["sampled", ...RARE_FACTS] as const;
/** Sent by the server so that a page can tell silence from a dead connection. */
const HEARTBEAT = "heartbeat";
/** Sent when this page was too slow and messages for it were dropped. */
const GAP = "gap";
/** Signed out, not allowed, no such topic: asking again soon changes nothing. */
const REFUSALS: readonly number[] = [4401, 4403, 4404];
const ATTEMPTS_AFTER_REFUSAL = 10;

export interface LiveSocket {
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number }) => void) | null;
  close(): void;
}

export interface LiveSurroundings {
  openSocket(): LiveSocket;
  dispatch(name: string, detail: unknown): void;
  isOnline(): boolean;
  isHidden(): boolean;
  random(): number;
}

export class LiveConnection {
  private readonly sequences = new SequenceWatch();
  private readonly facts = new Map<string, { firedMs: number; timer: ReturnType<typeof setTimeout> | null }>();
  private socket: LiveSocket | null = null;
  private isOpen = false;
  private isFollowing = false;
  private hasHeard = false;
  private attempt = 0;
  private heardMs = Date.now();
  private attemptMs = Date.now();
  private factMs = Date.now();
  private dataMs: number | null = null;

  constructor(private readonly surroundings: LiveSurroundings) {}

  start(): void {
    this.connect();
    setInterval(() => this.watch(), 1000);
  }

  /** The server's own figure for the age of the data when the page was made. */
  dataWasOld(ageS: number): void {
    this.dataMs = Math.max(this.dataMs ?? 0, Date.now() - ageS * 1000);
  }

  dataAgeS(): number | null {
    return this.dataMs === null ? null : (Date.now() - this.dataMs) / 1000;
  }

  state(): LiveState {
    return liveState({
      isOnline: this.surroundings.isOnline(),
      isOpen: this.isOpen,
      silentS: (Date.now() - this.heardMs) / 1000,
      dataAgeS: this.dataAgeS(),
      hasHeard: this.hasHeard,
    });
  }

  private connect(): void {
    this.attemptMs = Date.now();
    const socket = this.surroundings.openSocket();
    this.socket = socket;
    socket.onopen = () => this.opened();
    socket.onmessage = (event) => this.received(String(event.data));
    socket.onclose = (event) => this.closed(socket, event.code);
  }

  private opened(): void {
    this.isOpen = true;
    this.heardMs = Date.now();
    // What was said while nobody listened is lost: ask again.
    if (this.hasHeard) this.surroundings.dispatch("series-gap", null);
  }

  private closed(socket: LiveSocket, code: number): void {
    if (socket !== this.socket) return;
    this.socket = null;
    this.isOpen = false;
    this.isFollowing = false;
    if (REFUSALS.includes(code)) this.attempt = Math.max(this.attempt, ATTEMPTS_AFTER_REFUSAL);
    setTimeout(() => this.connect(), backoffS(this.attempt, this.surroundings.random()) * 1000);
    this.attempt += 1;
  }

  private received(text: string): void {
    const message = readMessage(text);
    if (message === null) return;
    this.heardMs = Date.now();
    this.hasHeard = true;
    this.attempt = 0;
    this.catchUp();
    if (!isPoints(message) && message.fact === HEARTBEAT) return;
    this.factMs = Date.now();
    if (!isPoints(message) && message.fact === GAP) this.surroundings.dispatch("series-gap", message.topic);
    else if (isPoints(message)) this.receivedPoints(message);
    else this.receivedFact(message);
  }

  /** An open socket is not yet subscribed; one that speaks is. */
  private catchUp(): void {
    if (this.isFollowing) return;
    this.isFollowing = true;
    RARE_FACTS.forEach((fact) => this.announce(fact, null));
  }

  private receivedPoints(message: PointsMessage): void {
    this.dataMs = Date.now();
    if (this.sequences.isGap(message.topic, message.seq)) this.surroundings.dispatch("series-gap", message.topic);
    this.surroundings.dispatch("series-points", message);
  }

  private receivedFact(message: FactMessage): void {
    if (message.fact === "sampled") this.dataMs = Date.now();
    this.announce(message.fact, message);
  }

  /** At most once per interval and fact; what comes in between is said once, at its end. */
  private announce(fact: string, detail: unknown): void {
    const held = this.facts.get(fact) ?? { firedMs: -Infinity, timer: null };
    this.facts.set(fact, held);
    if (held.timer !== null) return;
    const waitMs = held.firedMs + FACT_INTERVAL_MS - Date.now();
    const fire = (): void => {
      held.timer = null;
      held.firedMs = Date.now();
      this.surroundings.dispatch(fact, detail);
    };
    if (waitMs <= 0) fire();
    else held.timer = setTimeout(fire, waitMs);
  }

  /** Once a second: give up a connection that has gone silent, and keep the page going without one. */
  private watch(): void {
    const now = Date.now();
    if (now - Math.max(this.heardMs, this.attemptMs) > SILENT_AFTER_S * 1000) this.abandon();
    if (now - this.factMs < FALLBACK_INTERVAL_MS || this.surroundings.isHidden()) return;
    this.factMs = now;
    FALLBACK_FACTS.forEach((fact) => this.announce(fact, null));
    this.surroundings.dispatch("series-gap", null);
  }

  private abandon(): void {
    const socket = this.socket;
    if (socket === null) return;
    this.closed(socket, 1006);
    socket.close();
  }
}

let pageConnection: LiveConnection | null = null;

/** The connection of this page, if it follows anything. */
export function connectionOfPage(): LiveConnection | null {
  return pageConnection;
}

/** Follow the topics that the page names in <body data-live-topics="cluster.7,organisation.1">. */
export function followTopics(): void {
  const topics = document.body.dataset["liveTopics"];
  if (!topics) return;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const url = `${scheme}://${location.host}/ws/live/?topics=${encodeURIComponent(topics)}`;
  pageConnection = new LiveConnection({
    openSocket: () => new WebSocket(url) as LiveSocket,
    dispatch: (name, detail) => document.body.dispatchEvent(new CustomEvent(name, { detail })),
    isOnline: () => navigator.onLine,
    isHidden: () => document.hidden,
    random: Math.random,
  });
  pageConnection.start();
}

/**
 * <live-status age-s="2.4">: whether the page is live, and how old its data is.
 *
 * age-s: age of the latest sample when the server wrote the page; left out where there is no sample yet.
 */
import { connectionOfPage } from "./live";
import type { LiveState } from "./live_state";
import { everySecond } from "./ticker";
import { agoText, clockUtc } from "./values";

const ANNOUNCE_EVERY_MS = 30_000;
const LOOKS: Readonly<Record<LiveState, string>> = {
  connecting: "",
  live: "",
  reconnecting: "stale",
  stale: "stale",
  offline: "crit",
};

export class LiveStatus extends HTMLElement {
  static readonly observedAttributes = ["age-s"];
  private stop: (() => void) | null = null;
  private spoken: LiveState | null = null;
  private spokenMs = 0;
  private readonly pill = document.createElement("span");
  private readonly voice = document.createElement("span");
  private readonly words = document.createElement("span");

  connectedCallback(): void {
    const dot = document.createElement("i");
    this.pill.replaceChildren(dot, this.words);
    this.voice.className = "sr";
    this.voice.setAttribute("role", "status");
    this.replaceChildren(this.pill, this.voice);
    this.takeAge();
    this.stop = everySecond(() => this.show());
    this.show();
  }

  disconnectedCallback(): void {
    this.stop?.();
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.takeAge();
  }

  private takeAge(): void {
    const ageS = Number.parseFloat(this.getAttribute("age-s") ?? "");
    if (Number.isFinite(ageS)) connectionOfPage()?.dataWasOld(ageS);
  }

  private show(): void {
    const connection = connectionOfPage();
    if (connection === null) return;
    const state = connection.state();
    // Polls that fail are news too: the page is connected, and nothing on it is of now.
    const isBlind = state === "live" && document.querySelector("[data-out-of-sight]") !== null;
    const words = isBlind ? "Connected, cluster out of sight" : this.wordsFor(state, connection.dataAgeS());
    this.pill.className = `live ${isBlind ? "stale" : LOOKS[state]}`.trim();
    this.pill.dataset["state"] = state;
    this.words.className = !isBlind && (state === "live" || state === "connecting") ? "t" : "t md warn";
    if (this.words.textContent !== words) this.words.textContent = words;
    document.body.dataset["liveState"] = state;
    this.speak(state, words);
  }

  private wordsFor(state: LiveState, ageS: number | null): string {
    const age = ageS === null ? "" : `, updated ${agoText(Math.max(0, ageS))}`;
    if (state === "stale") return `Stale, last data ${this.latestInstant(ageS)}`;
    const names = { connecting: "Connecting", live: "Live", reconnecting: "Reconnecting", offline: "Offline" } as const;
    return `${names[state]}${age}`;
  }

  private latestInstant(ageS: number | null): string {
    return ageS === null ? "unknown" : `${clockUtc(Date.now() / 1000 - ageS)} UTC`;
  }

  /** Screen readers hear a change of state, and not more than one every 30 s. */
  private speak(state: LiveState, words: string): void {
    if (state === this.spoken || Date.now() - this.spokenMs < ANNOUNCE_EVERY_MS) return;
    if (this.spoken !== null) this.voice.textContent = words;
    this.spoken = state;
    this.spokenMs = Date.now();
  }
}

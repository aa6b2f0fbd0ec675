/**
 * <time-series-chart src="/api/v1/clusters/orders/series/" metric="replay_lag_s" label="How far behind are the standbys?">
 *
 * kind: `line` (default) or `share` (stacked to 100 %). window-s: seconds shown (default 900). topic: whose pushed points
 * to take (`cluster.7`; any if left out). unit: instead of the answer's. wanted-metric: for shares, the metric that holds
 * the wanted ones. events-id: id of a JSON script with [{letter, t, text}]. limit, limit-text: a line that means
 * something. axis-end: where the axis ends at first. The time of the figures is written into the panel's `.at`.
 */
import { CONFIG, figureOf, gapSOf, type Picture } from "./chart_figure";
import { fillReadout, problemNote, readout, spokenSummary, tableOf } from "./chart_parts";
import { chartTheme, loadPlotly } from "./chart_theme";
import { element } from "./elements";
import { fetchSeries, SeriesUnavailable, seriesUrl } from "./series_request";
import { append, carryOver, grownEnd, keyOf, latestS, type Trace, tracesOf } from "./traces";
import { clockUtc } from "./values";
import type { ChartEvent, PointsMessage } from "./wire";

const DEFAULT_WINDOW_S = 900;
const CALM_REDRAW_MS = 10_000;
const REFETCHES_PER_WINDOW = 30;

interface PlotElement extends HTMLDivElement {
  on?(name: string, listener: (event: { readonly xvals?: readonly (number | string)[] }) => void): void;
}

export class TimeSeriesChart extends HTMLElement {
  static readonly observedAttributes = ["window-s", "src", "metric"];
  private traces: readonly Trace[] = [];
  private wanted: readonly Trace[] = [];
  private unit = "";
  private endS = 0;
  private axisEnd = 0;
  private gapS = 0;
  private fetchedMs = 0;
  private drawnMs = 0;
  private cursorS: number | null = null;
  private isDrawPending = false;
  private readonly unknownKeys = new Set<string>();
  private listening = new AbortController();
  private fetching = new AbortController();
  private readonly values = element("div", "ro");
  private readonly plot: PlotElement = element("div", "chart", element("div", "sk"));
  private readonly table = element("div", "scroll");
  private readonly toggle = element("button", "link", "Table");
  private problem: HTMLElement | null = null;

  connectedCallback(): void {
    this.table.hidden = true;
    this.toggle.type = "button";
    this.nameToggle();
    this.plot.setAttribute("role", "img");
    this.setAttribute("aria-busy", "true");
    this.replaceChildren(this.values, this.plot, this.table);
    this.listening = new AbortController();
    const { signal } = this.listening;
    const body = document.body;
    body.addEventListener("series-points", (event) => this.push((event as CustomEvent<PointsMessage>).detail), { signal });
    body.addEventListener("series-gap", () => void this.load(), { signal });
    body.addEventListener("theme-changed", () => this.scheduleDraw(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || void this.load(), { signal });
    this.toggle.addEventListener("click", () => this.flipTable(), { signal });
    this.axisEnd = this.leastAxisEnd();
    void this.load();
  }

  disconnectedCallback(): void {
    this.listening.abort();
    this.fetching.abort();
    void loadPlotly().then((plotly) => plotly.purge(this.plot));
  }

  attributeChangedCallback(_name: string, before: string | null): void {
    if (!this.isConnected || before === null) return;
    this.traces = [];
    this.axisEnd = this.leastAxisEnd();
    void this.load();
  }

  private windowS(): number {
    return Number(this.getAttribute("window-s")) || DEFAULT_WINDOW_S;
  }

  private isShare(): boolean {
    return this.getAttribute("kind") === "share";
  }

  private leastAxisEnd(): number {
    return this.isShare() ? 1 : Number(this.getAttribute("axis-end")) || 1;
  }

  private async load(): Promise<void> {
    this.fetching.abort();
    this.fetching = new AbortController();
    const { signal } = this.fetching;
    try {
      const metrics = [this.getAttribute("metric") ?? "", this.getAttribute("wanted-metric")];
      const startS = Date.now() / 1000 - this.windowS();
      const urls = metrics.map((metric) => metric === null ? null : seriesUrl(this.getAttribute("src") ?? "", location.href, metric, startS));
      const [answer, wanted] = await Promise.all(urls.map((url) => (url === null ? null : fetchSeries(url, signal))));
      if (signal.aborted || !answer) return;
      this.gapS = gapSOf(tracesOf(answer));
      this.traces = carryOver(tracesOf(answer), this.traces);
      this.wanted = wanted ? carryOver(tracesOf(wanted), this.wanted) : [];
      this.unit = this.getAttribute("unit") ?? answer.unit;
      this.endS = Math.max(answer.end, latestS(this.traces) ?? 0);
      this.fetchedMs = Date.now();
      this.arrived();
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  private arrived(): void {
    this.removeAttribute("aria-busy");
    this.problem?.remove();
    this.problem = null;
    this.values.replaceChildren(...readout(this.traces, this.isShare()), this.toggle);
    this.scheduleDraw();
  }

  private failed(error: unknown): void {
    const text = error instanceof SeriesUnavailable ? error.message : "The chart could not be drawn.";
    console.error(text, error);
    this.removeAttribute("aria-busy");
    this.plot.querySelector(".sk")?.remove();
    this.problem?.remove();
    this.problem = problemNote(text, () => void this.load());
    this.append(this.problem);
  }

  private push(message: PointsMessage): void {
    const topic = this.getAttribute("topic");
    if (topic !== null && topic !== message.topic) return;
    const pushed = message.points[this.getAttribute("metric") ?? ""] ?? [];
    const known = new Set(this.traces.map((trace) => trace.key));
    const strangers = pushed.map(keyOf).filter((key) => !known.has(key) && !this.unknownKeys.has(key));
    this.traces = append(this.traces, pushed);
    this.wanted = append(this.wanted, message.points[this.getAttribute("wanted-metric") ?? ""] ?? []);
    this.endS = Math.max(this.endS, latestS(this.traces) ?? 0);
    // A backend or pgpool that this chart has not met has its name with the API.
    strangers.forEach((key) => this.unknownKeys.add(key));
    if (strangers.length > 0 || this.isDue()) void this.load();
    else this.scheduleDraw();
  }

  /** Points pushed every 2 s are denser than those of a long window; now and then the server thins them out. */
  private isDue(): boolean {
    const intervalMs = Math.max(60_000, (this.windowS() * 1000) / REFETCHES_PER_WINDOW);
    return this.fetchedMs > 0 && Date.now() - this.fetchedMs > intervalMs;
  }

  private scheduleDraw(): void {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.isDrawPending || document.hidden || this.fetchedMs === 0) return;
    this.isDrawPending = true;
    const waitMs = isCalm ? Math.max(0, this.drawnMs + CALM_REDRAW_MS - Date.now()) : 0;
    setTimeout(() => requestAnimationFrame(() => void this.draw()), waitMs);
  }

  private async draw(): Promise<void> {
    const plotly = await loadPlotly();
    this.isDrawPending = false;
    if (!this.isConnected) return;
    this.drawnMs = Date.now();
    this.axisEnd = this.isShare() ? 1 : grownEnd(this.traces, this.axisEnd);
    const { data, layout } = figureOf(this.picture(), chartTheme());
    const isFirst = this.plot.querySelector(".sk") !== null;
    if (isFirst) this.plot.replaceChildren();
    await plotly.react(this.plot, data, layout, CONFIG);
    if (isFirst) this.followCursor();
    this.showValues();
    if (!this.table.hidden) this.table.replaceChildren(tableOf(this.traces, this.unit));
  }

  private picture(): Picture {
    const limit = Number(this.getAttribute("limit"));
    return {
      kind: this.isShare() ? "share" : "line",
      traces: this.traces,
      wanted: this.wanted,
      unit: this.unit,
      startS: this.endS - this.windowS(),
      endS: this.endS,
      axisEnd: this.axisEnd,
      gapS: this.gapS,
      events: this.events(),
      limit: limit > 0 ? { value: limit, text: this.getAttribute("limit-text") ?? "" } : null,
    };
  }

  private events(): readonly ChartEvent[] {
    const source = document.getElementById(this.getAttribute("events-id") ?? "");
    return source === null ? [] : (JSON.parse(source.textContent ?? "[]") as readonly ChartEvent[]);
  }

  private followCursor(): void {
    this.plot.on?.("plotly_hover", (event) => {
      this.cursorS = cursorInstantS(event.xvals?.[0]);
      this.showValues();
    });
    this.plot.on?.("plotly_unhover", () => {
      this.cursorS = null;
      this.showValues();
    });
  }

  /** The values at the cursor, else the latest. */
  private showValues(): void {
    const latest = latestS(this.traces);
    const tS = this.cursorS ?? latest;
    if (tS !== null) fillReadout(this.values, this.traces, tS, this.unit);
    const place = this.parentElement?.querySelector(".at");
    if (place) place.textContent = tS === null ? "" : clockUtc(tS);
    this.plot.setAttribute("aria-label", spokenSummary(this.getAttribute("label") ?? "Chart", this.traces, latest, this.unit));
  }

  private nameToggle(): void {
    const other = this.table.hidden ? "Table" : "Chart";
    this.toggle.textContent = other;
    this.toggle.setAttribute("aria-label", `Show as ${other.toLowerCase()}`);
  }

  private flipTable(): void {
    this.table.hidden = !this.table.hidden;
    this.plot.hidden = !this.table.hidden;
    this.nameToggle();
    if (this.table.hidden) this.scheduleDraw();
    else this.table.replaceChildren(tableOf(this.traces, this.unit));
  }
}

/** Plotly names the instant under the cursor as "2026-03-17 14:25:02.5", in UTC as all our instants. */
function cursorInstantS(value: number | string | undefined): number | null {
  if (value === undefined) return null;
  const ms = typeof value === "number" ? value : Date.parse(`${value.replace(" ", "T")}Z`);
  return Number.isFinite(ms) ? ms / 1000 : null;
}

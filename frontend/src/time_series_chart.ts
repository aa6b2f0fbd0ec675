/**
 * <time-series-chart src="/api/v1/clusters/orders/series/" metric="replay_lag_s" label="How far behind are the standbys?">
 *
 * kind: `line` (default) or `share` (stacked to 100 %). window-s: seconds shown (default 900). topic: whose pushed points
 * to take (`cluster.7`; any if left out). unit: instead of the answer's. wanted-metric: for shares, the metric that holds
 * the wanted ones. beside-metric: the same lines in another unit, for the readout. compare-s, compare-label: also draw
 * what was there so many seconds earlier. subject: the name of the line of the whole cluster. keeps-peaks: draw the
 * highest of values that fall together, not their mean. events-id: id of a JSON script with [{letter, t, text}]. limit,
 * limit-text: a line that means something. axis-end: where the axis ends at first. The time of the figures is written
 * into the panel's `.at`, and beside it stands what switches to a table.
 */
import { carriedOver, type Feed, fetchFeed, NOTHING_YET, type Wishes, withPushed } from "./chart_feed";
import { CONFIG, drawnTraces, figureOf, type Picture } from "./chart_figure";
import { fillReadout, type Layer, problemNote, readout, spokenSummary, tableOf } from "./chart_parts";
import { chartTheme, loadPlotly } from "./chart_theme";
import { element } from "./elements";
import { SeriesUnavailable } from "./series_request";
import { grownEnd, keyOf, latestS } from "./traces";
import { clockUtc, isBytes } from "./values";
import type { ChartEvent, PointsMessage } from "./wire";

const DEFAULT_WINDOW_S = 900;
const CALM_REDRAW_MS = 10_000;
const REFETCHES_PER_WINDOW = 30;

interface PlotElement extends HTMLDivElement {
  on?(name: string, listener: (event: { readonly xvals?: readonly (number | string)[] }) => void): void;
}

export class TimeSeriesChart extends HTMLElement {
  static readonly observedAttributes = ["window-s", "src", "metric", "beside-metric"];
  private feed: Feed = NOTHING_YET;
  private axisEnd = 0;
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
    this.plot.setAttribute("aria-label", `${this.label()}: loading.`);
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
    this.toggle.remove();
    void loadPlotly().then((plotly) => plotly.purge(this.plot));
  }

  attributeChangedCallback(_name: string, before: string | null): void {
    if (!this.isConnected || before === null) return;
    this.feed = NOTHING_YET;
    this.axisEnd = this.leastAxisEnd();
    void this.load();
  }

  private wishes(): Wishes {
    const given = (name: string): string => this.getAttribute(name) ?? "";
    return {
      source: given("src"),
      metric: given("metric"),
      windowS: this.windowS(),
      wantedMetric: given("wanted-metric"),
      besideMetric: given("beside-metric"),
      compareS: Number(given("compare-s")) || 0,
      compareLabel: given("compare-label"),
      subject: given("subject"),
    };
  }

  private label(): string {
    return this.getAttribute("label") ?? "Chart";
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
      const fetched = await fetchFeed(this.wishes(), Date.now() / 1000, signal);
      if (signal.aborted) return;
      this.feed = carriedOver(fetched, this.feed);
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
    const { traces, compared, beside } = this.feed;
    const width = this.isShare() ? "share" : beside.length > 0 ? "figures" : "figure";
    this.values.replaceChildren(...readout(traces, compared, width));
    const place = this.placeOfTime();
    if (place) place.before(this.toggle);
    else this.values.append(this.toggle);
    this.showValues();
    this.scheduleDraw();
  }

  private failed(error: unknown): void {
    const text = error instanceof SeriesUnavailable ? error.message : "The chart could not be drawn.";
    console.error(text, error);
    this.removeAttribute("aria-busy");
    this.plot.querySelector(".sk")?.remove();
    if (this.fetchedMs === 0) this.plot.setAttribute("aria-label", `${this.label()}: ${text}`);
    this.problem?.remove();
    this.problem = problemNote(text, () => void this.load());
    this.append(this.problem);
  }

  private push(message: PointsMessage): void {
    const topic = this.getAttribute("topic");
    if (topic !== null && topic !== message.topic) return;
    const wishes = this.wishes();
    const known = new Set(this.feed.traces.map((trace) => trace.key));
    const keys = (message.points[wishes.metric] ?? []).map(keyOf);
    const strangers = keys.filter((key) => !known.has(key) && !this.unknownKeys.has(key));
    this.feed = withPushed(this.feed, wishes, message.points);
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
    const countsBytes = isBytes(this.unit());
    const shown = [...drawnTraces(this.picture()), ...this.feed.compared];
    this.axisEnd = this.isShare() ? 1 : grownEnd(shown, this.axisEnd, countsBytes);
    const { data, layout } = figureOf(this.picture(), chartTheme());
    const isFirst = this.plot.querySelector(".sk") !== null;
    if (isFirst) this.plot.replaceChildren();
    await plotly.react(this.plot, data, layout, CONFIG);
    if (isFirst) this.followCursor();
    this.showValues();
    if (!this.table.hidden) this.table.replaceChildren(tableOf(this.layers()));
  }

  private picture(): Picture {
    const limit = Number(this.getAttribute("limit"));
    const { traces, wanted, compared, endS, gapS } = this.feed;
    return {
      kind: this.isShare() ? "share" : "line",
      traces,
      wanted,
      compared,
      keepsPeaks: this.hasAttribute("keeps-peaks"),
      unit: this.unit(),
      startS: endS - this.windowS(),
      endS,
      axisEnd: this.axisEnd,
      gapS,
      events: this.events(),
      limit: limit > 0 ? { value: limit, text: this.getAttribute("limit-text") ?? "" } : null,
    };
  }

  private unit(): string {
    return this.getAttribute("unit") ?? this.feed.unit;
  }

  private layers(): Layer[] {
    const { traces, beside, besideUnit, compared } = this.feed;
    return [
      { traces, unit: this.unit() },
      { traces: beside, unit: besideUnit },
      { traces: compared, unit: this.unit() },
    ];
  }

  private placeOfTime(): Element | null {
    return this.parentElement?.querySelector(".at") ?? null;
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
    const latest = latestS(this.feed.traces);
    const tS = this.cursorS ?? latest;
    const layers = this.layers();
    if (tS !== null) fillReadout(this.values, layers, tS);
    const place = this.placeOfTime();
    if (place) place.textContent = tS === null ? "" : `${clockUtc(tS)} UTC`;
    this.plot.setAttribute("aria-label", spokenSummary(this.label(), layers, latest));
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
    else this.table.replaceChildren(tableOf(this.layers()));
  }
}

/** Plotly names the instant under the cursor as "2026-03-17 14:25:02.5", in UTC as all our instants. */
function cursorInstantS(value: number | string | undefined): number | null {
  if (value === undefined) return null;
  const ms = typeof value === "number" ? value : Date.parse(`${value.replace(" ", "T")}Z`);
  return Number.isFinite(ms) ? ms / 1000 : null;
}

/**
 * <run-chart src="/api/v1/benchmarks/runs/7/course/" run="7" metric="tps" label="Transactions per second">
 *
 * A run over time, from where its measurement began to where it will end. metric: `tps` (with the running mean and its
 * 95 % interval) or `latency_ms`. It asks again at every fact about this run. The time that the figures are of is written
 * into the panel's `.at`, and beside it stands what switches to a table.
 */
import { CONFIG } from "./chart_figure";
import { problemNote } from "./chart_parts";
import { chartTheme, loadPlotly } from "./chart_theme";
import { element } from "./elements";
import { fetchCourse } from "./run_course";
import { duration, highest, roomFor, runFigure, type RunMetric, UNITS } from "./run_figure";
import { SeriesUnavailable } from "./series_request";
import { figure } from "./values";
import type { CourseAnswer, CoursePoint } from "./wire";

const TABLE_ROWS = 60;

interface PlotElement extends HTMLDivElement {
  on?(name: string, listener: (event: { readonly xvals?: readonly (number | string)[] }) => void): void;
}

export class RunChart extends HTMLElement {
  private course: CourseAnswer | null = null;
  private end = 1;
  private cursorS: number | null = null;
  private isDrawn = false;
  private listening = new AbortController();
  private readonly values = element("div", "ro");
  private readonly plot: PlotElement = element("div", "chart", element("div", "sk"));
  private readonly table = element("div", "scroll");
  private readonly toggle = element("button", "link", "Table");
  private problem: HTMLElement | null = null;

  connectedCallback(): void {
    this.table.hidden = true;
    this.toggle.type = "button";
    this.toggle.setAttribute("aria-label", "Show as table");
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", `${this.label()}: loading.`);
    this.setAttribute("aria-busy", "true");
    this.replaceChildren(this.values, this.plot, this.table);
    this.listening = new AbortController();
    const { signal } = this.listening;
    document.body.addEventListener("run", (event) => this.heard((event as CustomEvent<unknown>).detail), { signal });
    document.body.addEventListener("series-gap", () => void this.load(), { signal });
    document.body.addEventListener("theme-changed", () => void this.draw(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || void this.load(), { signal });
    this.toggle.addEventListener("click", () => this.flipTable(), { signal });
    void this.load();
  }

  disconnectedCallback(): void {
    this.listening.abort();
    this.toggle.remove();
    this.isDrawn = false;
    void loadPlotly().then((plotly) => plotly.purge(this.plot));
  }

  private label(): string {
    return this.getAttribute("label") ?? "Chart";
  }

  private metric(): RunMetric {
    return this.getAttribute("metric") === "latency_ms" ? "latency_ms" : "tps";
  }

  /** Facts about other runs of the organisation come on the same page. */
  private heard(fact: unknown): void {
    const run = typeof fact === "object" && fact !== null && "run" in fact ? String(fact.run) : this.getAttribute("run");
    if (run === this.getAttribute("run") && !document.hidden) void this.load();
  }

  private async load(): Promise<void> {
    try {
      const course = await fetchCourse(this.getAttribute("src") ?? "");
      if (!this.isConnected) return;
      this.course = course;
      this.removeAttribute("aria-busy");
      this.problem?.remove();
      this.problem = null;
      await this.draw();
    } catch (error) {
      if (this.isConnected) this.failed(error);
    }
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

  private async draw(): Promise<void> {
    const plotly = await loadPlotly();
    const { course } = this;
    if (!this.isConnected || course === null) return;
    const metric = this.metric();
    this.end = roomFor(highest(course, metric), this.end);
    const { data, layout } = runFigure(course, metric, this.end, chartTheme());
    const isFirst = !this.isDrawn;
    this.isDrawn = true;
    if (isFirst) this.plot.replaceChildren();
    await plotly.react(this.plot, data, layout, CONFIG);
    if (isFirst) this.followCursor();
    this.plot.dataset["points"] = String(course.points.length);
    this.placeOfTime()?.before(this.toggle);
    this.showValues();
    if (!this.table.hidden) this.table.replaceChildren(this.tableOf(course));
  }

  private placeOfTime(): Element | null {
    return this.parentElement?.querySelector(".at") ?? null;
  }

  private followCursor(): void {
    this.plot.on?.("plotly_hover", (event) => {
      this.cursorS = Number(event.xvals?.[0] ?? NaN);
      this.showValues();
    });
    this.plot.on?.("plotly_unhover", () => {
      this.cursorS = null;
      this.showValues();
    });
  }

  /** At the cursor, else the latest. */
  private showValues(): void {
    const { course } = this;
    if (course === null) return;
    const { cursorS } = this;
    const point = cursorS === null ? course.points.at(-1) : course.points.findLast((one) => one.at_s <= cursorS);
    const cells = this.cells(course, point ?? null);
    this.values.replaceChildren(...cells.map(({ mark, words, value }) => element("span", "", mark, `${words} `, element("b", "figure", value))));
    const place = this.placeOfTime();
    if (place) place.textContent = point ? duration(point.at_s) : "";
    const said = point ? `${cells.map(({ words, value }) => `${words} ${value}`).join(", ")} at ${duration(point.at_s)}.` : "nothing measured yet.";
    this.plot.setAttribute("aria-label", `${this.label()}: ${said}`);
  }

  private cells(course: CourseAnswer, point: CoursePoint | null): { mark: HTMLElement; words: string; value: string }[] {
    const metric = this.metric();
    const each = course.step_s === 1 ? "each second" : `each ${duration(course.step_s)}`;
    const seconds = { mark: coloured("ln", "text-3"), words: each, value: figure(point?.[metric] ?? null, UNITS[metric]) };
    if (metric !== "tps") return [seconds];
    const low = point?.low_tps ?? null;
    const high = point?.high_tps ?? null;
    const width = low === null || high === null ? "not yet" : `${figure(low, "tps").replace("\u00a0tps", "")} to ${figure(high, "tps")}`;
    return [
      seconds,
      { mark: coloured("ln", "accent"), words: "mean until then", value: figure(point?.mean_tps ?? null, "tps") },
      { mark: coloured("tint", "accent"), words: "its 95\u00a0% interval", value: width },
    ];
  }

  private tableOf(course: CourseAnswer): HTMLTableElement {
    const isRate = this.metric() === "tps";
    const names = isRate ? ["tps", "mean until then", "from", "to"] : ["latency"];
    const head = element("tr", "", element("th", "", "At"), ...names.map((name) => element("th", "num", name)));
    const step = Math.max(1, Math.ceil(course.points.length / TABLE_ROWS));
    const shown = course.points.toReversed().filter((_, index) => index % step === 0);
    const rows = shown.map((point) => {
      const figures = isRate ? [point.tps, point.mean_tps, point.low_tps, point.high_tps] : [point.latency_ms];
      const cells = figures.map((value) => element("td", "num", figure(value, UNITS[this.metric()])));
      return element("tr", "", element("td", "nw", duration(point.at_s)), ...cells);
    });
    return element("table", "t tight", element("thead", "", head), element("tbody", "", ...rows));
  }

  private flipTable(): void {
    this.table.hidden = !this.table.hidden;
    this.plot.hidden = !this.table.hidden;
    const other = this.table.hidden ? "Table" : "Chart";
    this.toggle.textContent = other;
    this.toggle.setAttribute("aria-label", `Show as ${other.toLowerCase()}`);
    void this.draw();
  }
}

function coloured(name: string, token: string): HTMLElement {
  const mark = element("i", name);
  mark.style.setProperty("--c", `var(--${token})`);
  return mark;
}

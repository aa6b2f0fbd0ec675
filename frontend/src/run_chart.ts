/**
 * <run-chart src="/api/v1/benchmarks/runs/7/course/" run="7" metric="tps" label="Transactions per second">
 *
 * A run over time, from where its measurement began to where it will end. metric: `tps` (with the running mean and its
 * 95 % interval), `latency_ms`, or one of what the cluster did beside it, as `read_shares`. It asks again at every fact about this run. The time that the figures are of is written
 * into the panel's `.at`, and beside it stands what switches to a table.
 */
import { CONFIG, type Figure } from "./chart_figure";
import { problemNote } from "./chart_parts";
import { chartTheme, isDashed, loadPlotly, tokenOf } from "./chart_theme";
import { element } from "./elements";
import { fetchCourse } from "./run_course";
import { besideEnd, besideFigure, besideLines, duration, highest, roomFor, runFigure, type RunMetric, UNITS } from "./run_figure";
import { SeriesUnavailable } from "./series_request";
import { valueAt } from "./traces";
import { figure } from "./values";
import type { BesideLine, CourseAnswer, CoursePoint, Point } from "./wire";

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

  /** Of the load itself; null where the chart is of the cluster beside it. */
  private metric(): RunMetric | null {
    const given = this.getAttribute("metric");
    return given === "latency_ms" || given === "tps" ? given : null;
  }

  /** What the rate is of, where that is no transactions. */
  private unit(metric: RunMetric): string {
    return (metric === "tps" ? this.getAttribute("unit") : null) ?? UNITS[metric];
  }

  private beside(course: CourseAnswer): readonly BesideLine[] {
    return besideLines(course, this.getAttribute("metric") ?? "");
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
    const { data, layout } = this.figure(course, this.metric());
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

  private figure(course: CourseAnswer, metric: RunMetric | null): Figure {
    const theme = chartTheme();
    if (metric === null) {
      const lines = this.beside(course);
      this.end = besideEnd(lines, this.end);
      return besideFigure(course, lines, this.end, theme);
    }
    this.end = roomFor(highest(course, metric), this.end);
    return runFigure(course, metric, this.end, theme);
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
    const latestS = this.instants(course).at(-1) ?? null;
    const atS = this.cursorS ?? latestS;
    const metric = this.metric();
    const cells = atS === null ? [] : metric === null ? this.besideCells(course, atS) : loadCells(course, metric, this.unit(metric), atS);
    this.values.replaceChildren(...cells.map(({ mark, words, value }) => element("span", "", mark, `${words} `, element("b", "figure", value))));
    const place = this.placeOfTime();
    if (place) place.textContent = atS === null ? "" : duration(atS);
    const said = cells.map(({ words, value }) => `${words} ${value}`).join(", ");
    this.plot.setAttribute("aria-label", `${this.label()}: ${atS === null ? "nothing measured yet" : `${said} at ${duration(atS)}`}.`);
  }

  private instants(course: CourseAnswer): number[] {
    if (this.metric() !== null) return course.points.map((point) => point.at_s);
    return this.beside(course)[0]?.points.map(([atS]) => atS) ?? [];
  }

  private besideCells(course: CourseAnswer, atS: number): Cell[] {
    return this.beside(course).map((line, position) => {
      const drawnAs = { nodeId: line.node_id };
      const mark = coloured(`ln${isDashed(drawnAs, position) ? " d" : ""}`, tokenOf(drawnAs, position));
      return { mark, words: line.name, value: figure(valueAt(line.points, atS), line.unit) };
    });
  }

  private tableOf(course: CourseAnswer): HTMLTableElement {
    const metric = this.metric();
    const columns = metric === null ? this.beside(course).map(({ name, unit, points }) => ({ name, unit, points })) : loadColumns(course, metric, this.unit(metric));
    const head = element("tr", "", element("th", "", "At"), ...columns.map(({ name }) => element("th", "num", name)));
    const instants = this.instants(course).toReversed();
    const step = Math.max(1, Math.ceil(instants.length / TABLE_ROWS));
    const rows = instants.filter((_, index) => index % step === 0).map((atS) => {
      const cells = columns.map(({ points, unit }) => element("td", "num", figure(valueAt(points, atS), unit)));
      return element("tr", "", element("td", "nw", duration(atS)), ...cells);
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

interface Cell {
  readonly mark: HTMLElement;
  readonly words: string;
  readonly value: string;
}

function loadCells(course: CourseAnswer, metric: RunMetric, unit: string, atS: number): Cell[] {
  const point = course.points.findLast((one) => one.at_s <= atS) ?? null;
  const each = course.step_s === 1 ? "each second" : `each ${duration(course.step_s)}`;
  const seconds = { mark: coloured("ln", "text-3"), words: each, value: figure(point?.[metric] ?? null, unit) };
  if (metric !== "tps") return [seconds];
  const low = point?.low_tps ?? null;
  const high = point?.high_tps ?? null;
  const width = low === null || high === null ? "not yet" : `${figure(low, unit).replace(`\u00a0${unit}`, "")} to ${figure(high, unit)}`;
  return [
    seconds,
    { mark: coloured("ln", "accent"), words: "mean until then", value: figure(point?.mean_tps ?? null, unit) },
    { mark: coloured("tint", "accent"), words: "its 95\u00a0% interval", value: width },
  ];
}

interface Column {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly Point[];
}

function loadColumns(course: CourseAnswer, metric: RunMetric, unit: string): Column[] {
  const column = (name: string, key: keyof CoursePoint): Column => ({
    name,
    unit,
    points: course.points.map((point): Point => [point.at_s, point[key]]),
  });
  if (metric !== "tps") return [column("latency", metric)];
  return [column(unit, "tps"), column("mean until then", "mean_tps"), column("from", "low_tps"), column("to", "high_tps")];
}

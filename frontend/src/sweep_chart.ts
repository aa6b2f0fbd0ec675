/**
 * <sweep-chart src="/api/v1/benchmarks/comparisons/7/" label="Rate over clients">
 *
 * The curve of a sweep, drawn again whenever a run of the cluster is done. The same figures stand in the table below it.
 */
import { CONFIG } from "./chart_figure";
import { problemNote } from "./chart_parts";
import { chartTheme, loadPlotly } from "./chart_theme";
import { element } from "./elements";
import { sweepFigure } from "./sweep_figure";
import { isSweepAnswer, type SweepAnswer } from "./wire";

export class SweepChart extends HTMLElement {
  private sweep: SweepAnswer | null = null;
  private listening = new AbortController();
  private readonly plot = element("div", "chart", element("div", "sk"));
  private problem: HTMLElement | null = null;

  connectedCallback(): void {
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", `${this.label()}: loading.`);
    this.setAttribute("aria-busy", "true");
    this.replaceChildren(this.plot);
    this.listening = new AbortController();
    const { signal } = this.listening;
    document.body.addEventListener("run", (event) => this.heard((event as CustomEvent<unknown>).detail), { signal });
    document.body.addEventListener("theme-changed", () => void this.draw(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || void this.load(), { signal });
    void this.load();
  }

  disconnectedCallback(): void {
    this.listening.abort();
    void loadPlotly().then((plotly) => plotly.purge(this.plot));
  }

  private label(): string {
    return this.getAttribute("label") ?? "Chart";
  }

  /** A run under way tells of every second; only its end moves the curve. Without a socket nobody says which run it was. */
  private heard(fact: unknown): void {
    const state = typeof fact === "object" && fact !== null && "state" in fact ? fact.state : "done";
    if (state === "done" && !document.hidden) void this.load();
  }

  private async load(): Promise<void> {
    try {
      const response = await fetch(this.getAttribute("src") ?? "", { headers: { Accept: "application/json" }, credentials: "same-origin" });
      const answer: unknown = response.ok ? await response.json() : null;
      if (!isSweepAnswer(answer)) throw new Error(`No answer from ${new URL(response.url).pathname} (${response.status}).`);
      if (!this.isConnected) return;
      this.sweep = answer.sweep;
      this.removeAttribute("aria-busy");
      this.problem?.remove();
      this.problem = null;
      await this.draw();
    } catch (error) {
      if (this.isConnected) this.failed(error);
    }
  }

  private failed(error: unknown): void {
    console.error(error);
    this.removeAttribute("aria-busy");
    this.plot.querySelector(".sk")?.remove();
    this.problem?.remove();
    this.problem = problemNote("The curve could not be fetched.", () => void this.load());
    this.append(this.problem);
  }

  private async draw(): Promise<void> {
    const plotly = await loadPlotly();
    const { sweep } = this;
    if (!this.isConnected || this.hasAttribute("aria-busy")) return;
    this.plot.querySelector(".sk")?.remove();
    const said = sweep === null ? "Three places with a figure are needed." : sweep.sentence;
    this.plot.setAttribute("aria-label", `${this.label()}: ${said}`);
    this.hidden = sweep === null;
    if (sweep === null) return;
    const { data, layout } = sweepFigure(sweep, chartTheme());
    await plotly.react(this.plot, data, layout, CONFIG);
    this.plot.dataset["points"] = String(sweep.points.length);
  }
}

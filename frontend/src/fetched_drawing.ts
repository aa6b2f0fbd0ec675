/** A drawing of figures that are fetched when the page opens, and again whenever a run of the cluster is done. */
import { CONFIG, type Figure } from "./chart_figure";
import { problemNote } from "./chart_parts";
import { type ChartTheme, chartTheme, loadPlotly } from "./chart_theme";
import { element } from "./elements";

export abstract class FetchedDrawing<Answer> extends HTMLElement {
  private answer: Answer | null = null;
  private listening = new AbortController();
  private readonly plot = element("div", "chart", element("div", "sk"));
  private problem: HTMLElement | null = null;

  protected abstract isAnswer(value: unknown): value is Answer;
  /** What a reader without eyes is told of it, and everybody where there is nothing to draw. */
  protected abstract spoken(answer: Answer): string;
  /** null: there is nothing to draw yet. */
  protected abstract figure(answer: Answer, theme: ChartTheme): Figure | null;
  /** What stands above the drawing. */
  protected above(_answer: Answer): HTMLElement[] {
    return [];
  }

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

  /** A run under way tells of every second; only its end moves a figure. Without a socket nobody says which run it was. */
  private heard(fact: unknown): void {
    const state = typeof fact === "object" && fact !== null && "state" in fact ? fact.state : "done";
    if (state === "done" && !document.hidden) void this.load();
  }

  protected async load(): Promise<void> {
    try {
      const response = await fetch(this.getAttribute("src") ?? "", { headers: { Accept: "application/json" }, credentials: "same-origin" });
      const answer: unknown = response.ok ? await response.json() : null;
      if (!this.isAnswer(answer)) throw new Error(`No answer from ${new URL(response.url).pathname} (${response.status}).`);
      if (!this.isConnected) return;
      this.answer = answer;
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
    this.problem = problemNote("The figures could not be fetched.", () => void this.load());
    this.append(this.problem);
  }

  private async draw(): Promise<void> {
    const plotly = await loadPlotly();
    const { answer } = this;
    if (!this.isConnected || answer === null) return;
    this.removeAttribute("aria-busy");
    this.plot.querySelector(".sk")?.remove();
    this.plot.setAttribute("aria-label", `${this.label()}: ${this.spoken(answer)}`);
    const figure = this.figure(answer, chartTheme());
    if (figure === null) return this.replaceChildren(element("p", "q pb", this.spoken(answer)));
    this.replaceChildren(...this.above(answer), this.plot);
    await plotly.react(this.plot, figure.data, figure.layout, CONFIG);
  }
}

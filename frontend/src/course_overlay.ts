/**
 * <course-overlay src="/api/v1/benchmarks/comparisons/7/courses/" label="Rate while measured">
 *
 * The rate of each arm of a comparison over the time of its runs, laid over one another. Asked for again whenever a run of
 * the cluster is done.
 */
import { CONFIG } from "./chart_figure";
import { problemNote } from "./chart_parts";
import { chartTheme, loadPlotly } from "./chart_theme";
import { coursesFigure, lineOf } from "./course_figure";
import { element } from "./elements";
import { type CoursesAnswer, isCoursesAnswer } from "./wire";

export class CourseOverlay extends HTMLElement {
  private courses: CoursesAnswer | null = null;
  private listening = new AbortController();
  private readonly names = element("div", "ro");
  private readonly plot = element("div", "chart", element("div", "sk"));
  private problem: HTMLElement | null = null;

  connectedCallback(): void {
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", `${this.label()}: loading.`);
    this.replaceChildren(this.names, this.plot);
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

  /** Only the end of a run moves a line: one that is under way does not count yet. */
  private heard(fact: unknown): void {
    const state = typeof fact === "object" && fact !== null && "state" in fact ? fact.state : "done";
    if (state === "done" && !document.hidden) void this.load();
  }

  private async load(): Promise<void> {
    try {
      const response = await fetch(this.getAttribute("src") ?? "", { headers: { Accept: "application/json" }, credentials: "same-origin" });
      const answer: unknown = response.ok ? await response.json() : null;
      if (!isCoursesAnswer(answer)) throw new Error(`No answer from ${new URL(response.url).pathname} (${response.status}).`);
      if (!this.isConnected) return;
      this.courses = answer;
      this.problem?.remove();
      this.problem = null;
      await this.draw();
    } catch (error) {
      if (this.isConnected) this.failed(error);
    }
  }

  private failed(error: unknown): void {
    console.error(error);
    this.plot.querySelector(".sk")?.remove();
    this.problem?.remove();
    this.problem = problemNote("The courses could not be fetched.", () => void this.load());
    this.append(this.problem);
  }

  private async draw(): Promise<void> {
    const plotly = await loadPlotly();
    const { courses } = this;
    if (!this.isConnected || courses === null) return;
    this.plot.querySelector(".sk")?.remove();
    const drawn = courses.arms.filter((arm) => arm.points.length > 0);
    this.plot.setAttribute("aria-label", `${this.label()}: ${drawn.map((arm) => arm.label).join(", ") || "nothing measured yet"}.`);
    this.names.replaceChildren(
      ...courses.arms.map((arm, position) => {
        const { token, dash } = lineOf(arm, position);
        const mark = element("i", dash === "solid" ? "ln" : "ln d");
        mark.style.setProperty("--c", `var(--${token})`);
        return element("span", "", mark, arm.label);
      }),
    );
    const { data, layout } = coursesFigure(courses, chartTheme());
    await plotly.react(this.plot, data, layout, CONFIG);
    this.plot.dataset["lines"] = String(drawn.length);
  }
}

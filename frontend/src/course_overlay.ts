/**
 * <course-overlay src="/api/v1/benchmarks/comparisons/7/courses/" label="Rate while measured">
 *
 * The rate of each arm of a comparison over the time of its runs, laid over one another.
 */
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { coursesFigure, lineOf } from "./course_figure";
import { element } from "./elements";
import { FetchedDrawing } from "./fetched_drawing";
import { type CoursesAnswer, isCoursesAnswer } from "./wire";

export class CourseOverlay extends FetchedDrawing<CoursesAnswer> {
  protected isAnswer(value: unknown): value is CoursesAnswer {
    return isCoursesAnswer(value);
  }

  protected spoken({ arms }: CoursesAnswer): string {
    const drawn = arms.filter((arm) => arm.points.length > 0);
    return `${drawn.map((arm) => arm.label).join(", ") || "No run that counts has told of its seconds yet"}.`;
  }

  protected override above(courses: CoursesAnswer): HTMLElement[] {
    const names = courses.arms.map((arm, position) => {
      const { token, dash } = lineOf(arm, position);
      const mark = element("i", dash === "solid" ? "ln" : "ln d");
      mark.style.setProperty("--c", `var(--${token})`);
      return element("span", "", mark, arm.label);
    });
    return [element("div", "ro", ...names)];
  }

  protected figure(courses: CoursesAnswer, theme: ChartTheme): Figure | null {
    return courses.arms.some((arm) => arm.points.length > 0) ? coursesFigure(courses, theme) : null;
  }
}

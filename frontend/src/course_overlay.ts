/**
 * <course-overlay src="/api/v1/benchmarks/comparisons/7/courses/" label="Rate while measured">
 *
 * The rate of each arm of a comparison over the time of its runs, laid over one another.
 */
import { armNames } from "./arm_names";
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { coursesFigure } from "./course_figure";
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
    return [armNames(courses.arms)];
  }

  protected figure(courses: CoursesAnswer, theme: ChartTheme): Figure | null {
    return courses.arms.some((arm) => arm.points.length > 0) ? coursesFigure(courses, theme) : null;
  }
}

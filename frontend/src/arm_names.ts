/** The names of arms above a drawing, each with the line that stands for it. */
import { lineOf } from "./course_figure";
import { element } from "./elements";
import type { ArmCourse } from "./wire";

export function armNames(arms: readonly Pick<ArmCourse, "label" | "is_baseline">[]): HTMLElement {
  const names = arms.map((arm, position) => {
    const { token, dash } = lineOf(arm, position);
    const mark = element("i", dash === "solid" ? "ln" : "ln d");
    mark.style.setProperty("--c", `var(--${token})`);
    return element("span", "", mark, arm.label);
  });
  return element("div", "ro", ...names);
}

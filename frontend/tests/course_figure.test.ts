import { expect, test } from "vitest";

import type { ChartTheme } from "../src/chart_theme";
import { coursesFigure, lineOf } from "../src/course_figure";

const THEME = new Proxy({} as ChartTheme, { get: (_, name) => String(name) });

test("twelve arms have lines of their own, and the baseline the accent", () => {
  const lines = Array.from({ length: 12 }, (_, position) => lineOf({ is_baseline: false }, position));
  expect(new Set(lines.map(({ token, dash }) => `${token} ${dash}`)).size).toBe(12);
  expect(lineOf({ is_baseline: true }, 5)).toEqual({ token: "accent", dash: "solid" });
});

test("all arms share one axis, and one without a figure is an empty line", () => {
  const arms = [
    { label: "a", is_baseline: true, points: [[1, 100], [2, 180]] as const },
    { label: "b", is_baseline: false, points: [] },
  ];
  const { data, layout } = coursesFigure({ comparison: 1, duration_s: 60, step_s: 1, arms }, THEME);
  expect(data[0]).toMatchObject({ x: [1, 2], y: [100, 180], line: { color: "accent" } });
  expect(data[1]).toMatchObject({ x: [], y: [] });
  expect(layout).toMatchObject({ xaxis: { range: [0, 60] }, yaxis: { tickvals: [0, 100, 200] } });
});

import { expect, test } from "vitest";
import type { ChartTheme } from "../src/chart_theme";
import { isByRatio, sweepFigure } from "../src/sweep_figure";
import type { PointAnswer, SweepAnswer } from "../src/wire";

const THEME = new Proxy({}, { get: (_, name) => String(name) }) as ChartTheme;

function at(x: number, tps: number, low: number | null = null, high: number | null = null, limit = ""): PointAnswer {
  return { x, tps, low, high, limit };
}

test("places that double are spread by their ratio, others as they are", () => {
  expect(isByRatio([at(1, 1), at(2, 1), at(4, 1), at(8, 1)])).toBe(true);
  expect(isByRatio([at(1, 1), at(2, 1), at(3, 1)])).toBe(false);
});

test("the interval is drawn from the typical rate, and a single run has none", () => {
  const sweep: SweepAnswer = { points: [at(1, 100, 90, 120), at(2, 150), at(3, 80, 70, 85)], best_x: 2, rivals: [], is_bracketed: true, doubling: null, sentence: "" };
  const { data, layout } = sweepFigure(sweep, THEME);
  expect(data[0]).toMatchObject({ x: [1, 2, 3], y: [100, 150, 80], error_y: { array: [20, 0, 5], arrayminus: [10, 0, 10] } });
  expect(data[1]).toMatchObject({ x: [] });
  expect(data[2]).toMatchObject({ x: [2], y: [150] });
  expect(layout).toMatchObject({ xaxis: { type: "linear", tickvals: [1, 2, 3] }, yaxis: { tickvals: [0, 100, 200] } });
});

test("places that clients or the throttle limit are ringed and named", () => {
  const points = [at(1, 100, null, null, "clients"), at(2, 200, null, null, "clients"), at(4, 250), at(8, 300, null, null, "throttle")];
  const { data } = sweepFigure({ points, best_x: 8, rivals: [], is_bracketed: false, doubling: null, sentence: "" }, THEME);
  expect(data[1]).toMatchObject({ x: [1, 2, 8], y: [100, 200, 300], text: ["clients", "clients", "throttle"], marker: { symbol: "circle-open" } });
});

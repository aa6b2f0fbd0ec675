import { expect, test } from "vitest";
import type { ChartTheme } from "../src/chart_theme";
import { rounds, trendFigure } from "../src/trend_figure";
import type { RoundAnswer, TrendAnswer, TrendPoint } from "../src/wire";

const THEME = new Proxy({}, { get: (_, name) => String(name) }) as ChartTheme;
const NONE: TrendPoint = { tps: null, low: null, high: null, change: "", change_percent: null, limit_percent: null, moved: [] };

function at(tps: number, change = "none", changePercent: number | null = null): TrendPoint {
  return { tps, low: tps - 10, high: tps + 20, change, change_percent: changePercent, limit_percent: 2, moved: [] };
}

function night(day: number, ...trend: TrendPoint[]): RoundAnswer {
  return { id: day, kind: "scheduled", due_at: `2026-11-0${day}T02:00:00Z`, comparison: day, state: "done", reason: "", trend };
}

/** As the answer has it: the latest round first. */
const TREND: TrendAnswer = {
  arms: ["primary direct", "all pgpools"],
  baseline: 0,
  sentence: "",
  rounds: [night(3, at(950, "confirmed", -5.04), at(420, "suspected", 6)), night(2, NONE, NONE), night(1, at(1000), at(400))],
};

test("rounds come in the order of time, and those without a figure leave no point", () => {
  expect(rounds(TREND, 0).map(({ due }) => due.slice(0, 10))).toEqual(["2026-11-01", "2026-11-03"]);
});

test("each arm has its line with intervals, and its steps are ringed: confirmed ones with their size", () => {
  const { data, layout } = trendFigure(TREND, THEME);
  expect(data).toHaveLength(4);
  expect(data[0]).toMatchObject({ line: { color: "accent", dash: "solid" } });
  expect(data[1]).toMatchObject({ text: ["−5.0\u00a0%"], marker: { color: ["crit"] } });
  expect(data[3]).toMatchObject({ text: [""], marker: { color: ["warn"] } });
  expect(layout).toMatchObject({ xaxis: { type: "date" }, yaxis: { range: [-8, 8], ticktext: ["−8 %", "−4 %", "0 %", "+4 %", "+8 %"] } });
});

test("a point stands in percent of the median of its arm, and so do the ends of its interval", () => {
  const nights = [night(3, at(1100), at(5)), night(2, at(1000), at(5)), night(1, at(900), at(5))];
  const found = rounds({ ...TREND, rounds: nights }, 0);
  expect(found.map(({ percent }) => Math.round(percent))).toEqual([-10, 0, 10]);
  expect(found[1]).toMatchObject({ low: expect.closeTo(-1), high: expect.closeTo(2) });
});

import { describe, expect, it } from "vitest";

import type { ChartTheme } from "../src/chart_theme";
import { spanText, ticksTo, unitOf, warmUpFigure } from "../src/warm_up_figure";
import { type ForecastAnswer, isForecastAnswer } from "../src/wire";

const THEME = new Proxy({}, { get: (_, name) => String(name) }) as ChartTheme;

const forecast: ForecastAnswer = {
  keys: 50_000, keys_from: "given", per_s: 420, per_s_from: "given", cache: "pgpool-1", storage: "shmem", is_on: true,
  points: [
    { at_s: 0, operating_hit_ratio: 0, cumulative_hit_ratio: 0 },
    { at_s: 300, operating_hit_ratio: 0.92, cumulative_hit_ratio: 0.63 },
    { at_s: 600, operating_hit_ratio: 0.99, cumulative_hit_ratio: 0.8 },
  ],
  break_even: { ratio: 0.4, low: 0.22, high: 0.51 },
  reaches_after_s: 60, reaches_after_low_s: 30, reaches_after_high_s: 84, shown_after_s: 132, warm_after_s: 600,
  lost: { mean_cost: 1.2, reads: 5000 }, between_writes: null, sentence: "…", why: [],
};
const writes = {
  write_every_s: 120, reads: 50_400, mean_operating_hit_ratio: 0.37, at_random_hit_ratio: 0.5, state: "close",
  pays_from_every_s: 132, pays_from_every_low_s: 60, pays_from_every_high_s: 200, pays_from_random_every_s: 80, sentence: "…",
};

interface Drawn {
  readonly x: number[];
  readonly y: number[];
}

const drawnOf = (answer: ForecastAnswer): Drawn[] => (warmUpFigure(answer, THEME)?.data ?? []) as Drawn[];
const layoutOf = (answer: ForecastAnswer): { shapes: { y0: number; y1: number; x0: number }[]; annotations: { text: string; xanchor: string }[]; xaxis: { ticktext: string[] } } =>
  warmUpFigure(answer, THEME)?.layout as never;
const wordsOf = (answer: ForecastAnswer): string[] => layoutOf(answer).annotations.map(({ text }) => text);

describe("a cache that warms up", () => {
  it("draws both ratios in minutes, and marks where each comes to the break-even", () => {
    const [moment, since, pays, shown] = drawnOf(forecast);

    expect([moment?.x, moment?.y]).toEqual([[0, 5, 10], [0, 0.92, 0.99]]);
    expect(since?.y).toEqual([0, 0.63, 0.8]);
    expect([pays?.x, pays?.y, shown?.x, shown?.y]).toEqual([[1], [0.4], [2.2], [0.4]]);
    expect(layoutOf(forecast).xaxis.ticktext).toEqual(["0\u00a0min", "2\u00a0min", "4\u00a0min", "6\u00a0min", "8\u00a0min", "10\u00a0min"]);
    expect(wordsOf(forecast)).toEqual(["<b>pays after 1\u00a0min</b>", "shown after 2\u00a0min 12\u00a0s"]);
    const [band, line] = layoutOf(forecast).shapes;
    expect([band?.y0, band?.y1, line?.y0, line?.y1]).toEqual([0.22, 0.51, 0.4, 0.4]);
  });

  it("draws no break-even where none was measured", () => {
    const none = { ...forecast, break_even: null, reaches_after_s: null, shown_after_s: null };

    expect(drawnOf(none)).toHaveLength(2);
    expect([layoutOf(none).shapes, wordsOf(none)]).toEqual([[], []]);
  });

  it("marks nothing that lies behind the end", () => {
    const late = { ...forecast, shown_after_s: 3000 };

    expect(drawnOf(late)).toHaveLength(3);
    expect(wordsOf(late)).toHaveLength(1);
  });

  it("keeps words inside of the drawing", () => {
    expect(layoutOf({ ...forecast, shown_after_s: 500 }).annotations.map(({ xanchor }) => xanchor)).toEqual(["left", "right"]);
  });

  it("shades what the next write never lets it come to", () => {
    const told = { ...forecast, between_writes: writes };

    const shaded = (answer: ForecastAnswer): number[] => layoutOf(answer).shapes.filter(({ y1 }) => y1 === 1).map(({ x0 }) => x0);

    expect(shaded(told)).toEqual([2, 2]); // from the write on, and the write itself
    expect(shaded({ ...told, between_writes: { ...writes, write_every_s: 600 } })).toEqual([]);
  });

  it("draws nothing without a rate", () => {
    expect(warmUpFigure({ ...forecast, per_s: null, points: [] }, THEME)).toBeNull();
  });

  it("is told apart from other answers that have points", () => {
    expect([isForecastAnswer(forecast), isForecastAnswer({ points: [] })]).toEqual([true, false]);
  });
});

it("an axis has the largest unit that it has five of", () => {
  expect([0.0001, 4.9, 5, 299, 300, 18_000, 500_000].map((endS) => unitOf(endS)[0])).toEqual(["ms", "ms", "s", "s", "min", "h", "d"]);
});

it("marks of time are round", () => {
  expect(ticksTo(9.1)).toEqual([0, 2, 4, 6, 8]);
  expect(ticksTo(2)).toEqual([0, 0.5, 1, 1.5, 2]);
  expect(ticksTo(450)).toEqual([0, 100, 200, 300, 400]);
});

it("a time is said as the sentence beside says it", () => {
  const said = [0, 0.001, 0.42, 2.44, 59.6, 130, 11_100, 86_400, 200_000, 1e6].map((seconds) => spanText(seconds).replaceAll("\u00a0", " "));

  expect(said).toEqual(["0 s", "less than 0.01 s", "0.42 s", "2.4 s", "1 min", "2 min 10 s", "3 h 5 min", "1 day", "2 days 7 h", "12 days"]);
});

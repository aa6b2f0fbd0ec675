import { describe, expect, it } from "vitest";

import type { ChartTheme } from "../src/chart_theme";
import { type Axis, breakEvenFigure, curvesOf, logTicks } from "../src/break_even_figure";
import type { BreakEvenCurve, CacheAnswer } from "../src/wire";
const THEME = new Proxy({}, { get: (_, name) => String(name) }) as ChartTheme;

const shmem: BreakEvenCurve = {
  storage: "shmem",
  state: "pays_above",
  sentence: "The cache pays from 40 % hits (95 % interval 30 to 50 %).",
  ratio: 0.4,
  low: 0.3,
  high: 0.5,
  cumulative_ratio: 0.22,
  relative_miss_cost: 1.5,
  relative_hit_cost: 0.25,
  no_cache_tps: 1000,
  peak_tps: 4000,
  pairs: [
    { hit_ratio: 0, cumulative_hit_ratio: 0, tps: 660 },
    { hit_ratio: 0.9, cumulative_hit_ratio: 0.6, tps: 2600 },
  ],
  curve: [
    { hit_ratio: 0, cumulative_hit_ratio: 0, tps: 667, low: 600, high: 730 },
    { hit_ratio: 0.9, cumulative_hit_ratio: 0.6, tps: 2700, low: 2300, high: null },
  ],
};

function answer(curves: BreakEvenCurve[], ratio: number | null = 0.71): CacheAnswer {
  return {
    operating_hit_ratio: ratio,
    storage: "shmem",
    gain: ratio === null ? null : { times: 1.6, low: 1.5, high: 1.7 },
    calibration: { curves },
  } as unknown as CacheAnswer;
}

const figureOf = (found: CacheAnswer, storage: string, axis: Axis): ReturnType<typeof breakEvenFigure> => breakEvenFigure(curvesOf(found), found, storage, axis, THEME);

interface Drawn {
  readonly x: number[];
  readonly y: number[];
  readonly mode: string;
}

const drawnOf = (figure: ReturnType<typeof breakEvenFigure>): Drawn[] => (figure?.data ?? []) as unknown as Drawn[];
const words = (figure: ReturnType<typeof breakEvenFigure>): string => JSON.stringify((figure?.layout as { annotations?: unknown }).annotations);

describe("a break-even", () => {
  it("draws band, pairs, curve, and where the cluster stands", () => {
    const figure = figureOf(answer([shmem]), "shmem", "operating");

    const [band, pairs, curve, crossing, now] = drawnOf(figure);
    expect(band?.y).toEqual([730, 600]); // what nothing bounds from above is in no band
    expect(pairs?.y).toEqual([660, 2600]);
    expect(curve?.x).toEqual([0, 0.9]);
    expect([crossing?.x, crossing?.y]).toEqual([[0.4], [1000]]);
    expect([now?.x, now?.y]).toEqual([[0.71], [1600]]);
    expect(words(figure)).toContain("<b>pays from 40 %");
    expect(words(figure)).toContain("95 %: 30 to 50 %");
    expect(words(figure)).toContain("now 71 % hits");
  });

  it("shows the ratio since the start without a place of the moment", () => {
    const figure = figureOf(answer([shmem]), "shmem", "cumulative");

    expect(drawnOf(figure)).toHaveLength(4);
    expect(drawnOf(figure)[1]?.x).toEqual([0, 0.6]);
    expect(words(figure)).toContain("pays from 22 %");
    expect((figure?.layout as { shapes: unknown[] }).shapes).toHaveLength(1);
  });

  it("draws two storages side by side, or one of them", () => {
    const both = [shmem, { ...shmem, storage: "memcached" }];

    expect(drawnOf(figureOf(answer(both), "both", "operating"))).toHaveLength(8);
    expect(words(figureOf(answer(both), "both", "operating"))).toContain("<b>memcached 40 %");
    expect(drawnOf(figureOf(answer(both), "memcached", "operating"))).toHaveLength(4);
    expect(figureOf(answer([shmem]), "memcached", "operating")).toBeNull();
  });

  it("marks no crossing where there is none, and no place without reads", () => {
    const none = { ...shmem, ratio: null, low: null, high: null, cumulative_ratio: null };
    const figure = figureOf(answer([none], null), "both", "operating");

    expect(words(figure)).toBe("[]");
    expect(drawnOf(figure)).toHaveLength(3);
  });
});

it("ticks of a logarithmic axis are round", () => {
  expect(logTicks(300, 60000)).toEqual([500, 1000, 2000, 5000, 10000, 20000, 50000]);
});

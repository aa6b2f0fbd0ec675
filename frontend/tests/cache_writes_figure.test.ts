import { describe, expect, it } from "vitest";

import { cacheWritesFigure } from "../src/cache_writes_figure";
import type { ChartTheme } from "../src/chart_theme";
import type { AtWriteRate, WriteCurve } from "../src/wire";

const THEME = new Proxy({}, { get: (_, name) => String(name) }) as ChartTheme;

function at(rate: number, gain: number, ratio: number): AtWriteRate {
  return {
    wanted_per_s: rate, writes_per_s: rate, hit_ratio: ratio, tps: 1000 * gain, no_cache_tps: 1000, gain, gain_low: gain - 0.1, gain_high: gain + 0.1,
    write_latency_ms: 2, no_cache_write_latency_ms: 1.5, kept_keys: 20, stale_keys: 0,
  };
}

const curve: WriteCurve = {
  storage: "shmem", state: "pays_up_to", sentence: "The cache pays up to about 50 writes per second.", per_s: 50, low: 30, high: null, kept_keys: 40, stale_keys: 0,
  rates: [at(0, 3, 0.95), at(10, 2, 0.8), at(100, 0.8, 0.3)],
};

interface Drawn {
  readonly x: number[];
  readonly y: number[];
  readonly error_y: { readonly array: number[] };
}

const drawnOf = (figure: ReturnType<typeof cacheWritesFigure>): Drawn[] => (figure?.data ?? []) as unknown as Drawn[];
const laidOut = (figure: ReturnType<typeof cacheWritesFigure>): { shapes: { x0: number; x1: number }[]; annotations: { text: string }[] } =>
  figure?.layout as unknown as { shapes: { x0: number; x1: number }[]; annotations: { text: string }[] };

describe("a cache under writes", () => {
  it("is drawn at the rates that were made, and not at the one without writes, which a log axis has no place for", () => {
    const [line] = drawnOf(cacheWritesFigure([curve], "shmem", THEME));

    expect(line?.x).toEqual([10, 100]);
    expect(line?.y).toEqual([2, 0.8]);
    expect(line?.error_y.array[0]).toBeCloseTo(0.1);
  });

  it("has the interval of its limit, open to the last rate that was made, and the ratio at each", () => {
    const { shapes, annotations } = laidOut(cacheWritesFigure([curve], "both", THEME));

    expect([shapes[0]?.x0, shapes[0]?.x1]).toEqual([30, 100]);
    expect(annotations.map((one) => one.text)).toEqual(["80 % hits", "30 % hits", "<b>Shared memory pays up to 50 per s</b>"]);
  });

  it("draws no limit where there is none", () => {
    const { shapes } = laidOut(cacheWritesFigure([{ ...curve, per_s: null, low: null }], "shmem", THEME));

    expect(shapes).toHaveLength(1);
  });

  it("is nothing where nothing was measured", () => {
    expect(cacheWritesFigure([curve], "memcached", THEME)).toBeNull();
    expect(cacheWritesFigure([], "both", THEME)).toBeNull();
  });
});

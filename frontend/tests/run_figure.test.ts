import { describe, expect, test } from "vitest";

import type { ChartTheme } from "../src/chart_theme";
import { besideEnd, besideFigure, besideLines, duration, highest, line, roomFor, runFigure, timeTicks } from "../src/run_figure";
import { figure } from "../src/values";
import type { CourseAnswer, CoursePoint } from "../src/wire";

const THEME = new Proxy({} as ChartTheme, { get: (_, token: string) => (token === "accent" ? "rgb(1, 2, 3)" : "rgb(9, 9, 9)") });

function point(atS: number, tps: number, width: number | null = null): CoursePoint {
  const [low, high] = width === null ? [null, null] : [tps - width, tps + width];
  return { at_s: atS, tps, latency_ms: tps === 0 ? null : 2, mean_tps: tps, low_tps: low, high_tps: high };
}

function course(points: readonly CoursePoint[], stepS = 1): CourseAnswer {
  return { run: 7, state: "running", is_active: true, duration_s: 60, step_s: stepS, points, beside: [] };
}

describe("a run over time", () => {
  test("a second in which nothing was told is a gap", () => {
    const drawn = line(course([point(1, 10), point(2, 11), point(5, 12)]), "tps");

    expect(drawn.map(([, value]) => value)).toEqual([10, 11, null, 12]);
  });

  test("the axis holds every second, not the wide intervals of the beginning", () => {
    expect(highest(course([point(1, 10), point(2, 30, 500)]), "tps")).toBe(30);
    expect(highest(course([]), "tps")).toBe(0);
  });

  test.each([
    [0.3, 1, 1],
    [5334, 1, 6000],
    [6000, 1, 6000],
    [6001, 6000, 8000],
    [100, 6000, 6000],
    [0.00043, 0, 0.0005],
  ])("%d on an axis that ended at %d ends it at %d", (value, before, end) => {
    expect(roomFor(value, before)).toBeCloseTo(end, 9);
  });

  test("it spans the whole measurement, so that one sees how much is to come", () => {
    const { layout } = runFigure(course([point(1, 10)]), "tps", 20, THEME);

    expect((layout as { xaxis: { range: number[] } }).xaxis.range).toEqual([0, 60]);
  });

  test("the interval is drawn once there is one, around the mean", () => {
    const early = runFigure(course([point(1, 10), point(2, 11)]), "tps", 20, THEME);
    const later = runFigure(course([point(1, 10), point(20, 10, 2), point(21, 11, 1)]), "tps", 20, THEME);

    expect(early.data).toHaveLength(2);
    expect(later.data).toHaveLength(3);
    expect(later.data[0]).toMatchObject({ x: [20, 21, 21, 20], y: [12, 12, 10, 8], fill: "toself", fillcolor: "rgba(1,2,3,0.16)" });
  });

  test("latency has no running mean: p95 and p99 are of all transactions, at the end", () => {
    expect(runFigure(course([point(1, 10)]), "latency_ms", 20, THEME).data).toHaveLength(1);
  });

  test("what the cluster did beside it has the colour of its backend, and shares end at 100 %", () => {
    const beside = [
      { metric: "read_shares", unit: "share", node_id: 2, name: "pg3", points: [[1, 0.4] as const] },
      { metric: "wal_bytes_per_s", unit: "MiB/s", node_id: null, name: "primary", points: [[1, null] as const, [3, 12] as const] },
    ];
    const held = { ...course([point(1, 10)]), beside };
    const shares = besideLines(held, "read_shares");
    const written = besideLines(held, "wal_bytes_per_s");
    const theme = new Proxy({} as ChartTheme, { get: (_, token: string) => `of ${token}` });

    expect(besideFigure(held, shares, 1, theme).data).toMatchObject([{ x: [1], y: [0.4], line: { color: "of node-2" } }]);
    expect(besideEnd(shares, 0.2)).toBe(1);
    expect(besideEnd(written, 1)).toBe(20);
    expect(besideEnd([], 1)).toBe(1);
  });

  test.each([
    [0, "0"],
    [45, "45 s"],
    [90, "1 min 30 s"],
    [7200, "2 h"],
  ])("%d seconds are written %s", (seconds, words) => {
    expect(duration(seconds).replaceAll("\u00a0", " ")).toBe(words);
  });

  test("there are at most seven marks of time", () => {
    expect(timeTicks(60)).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(timeTicks(2)).toEqual([0, 1, 2]);
    expect(timeTicks(600)).toEqual([0, 120, 240, 360, 480, 600]);
    expect(timeTicks(7 * 86_400).length).toBeLessThanOrEqual(8);
  });

  test("a rate has decimals below 100 only", () => {
    expect(figure(13.234, "tps")).toBe("13.23\u00a0tps");
    expect(figure(4987.2, "tps")).toBe("4,987\u00a0tps");
  });
});

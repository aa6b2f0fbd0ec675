import { describe, expect, test } from "vitest";

import {
  append,
  axisEnd,
  axisTicks,
  boundaries,
  carryOver,
  clip,
  grownEnd,
  shifted,
  stackedColumns,
  stretches,
  tableInstants,
  thinned,
  type Trace,
  tracesOf,
  usualStepS,
  valueAt,
  withGaps,
} from "../src/traces";
import type { Point } from "../src/wire";

function trace(nodeId: number | null, points: readonly Point[], instance: string | null = null): Trace {
  return { key: `${nodeId ?? ""}@${instance ?? ""}`, nodeId, instance, name: `pg${nodeId}`, points };
}

describe("traces", () => {
  test("an answer is ordered by node, so that colours and order never change", () => {
    const answer = {
      metric: "read_share",
      unit: "share",
      start: 0,
      end: 10,
      series: [
        { node_id: 2, name: "pg3", points: [] },
        { node_id: 0, name: "pg1", points: [] },
      ],
    };

    expect(tracesOf(answer).map((one) => [one.nodeId, one.name])).toEqual([
      [0, "pg1"],
      [2, "pg3"],
    ]);
  });

  test("a reference is moved to the instants it is compared with, and left out where it holds nothing", () => {
    const week = [trace(null, [[100, 5]]), trace(1, [[100, null]])];

    expect(shifted(week, 604_800)).toMatchObject([{ key: "@~", points: [[604_900, 5]] }]);
  });

  test.each([
    [false, [[2, 2], [9, 4]]], // (1 + 3) / 2, 4
    [true, [[2, 3], [9, 4]]],
  ])("points that fall on one spot become one; the highest where peaks count: %s", (keepsPeaks, drawn) => {
    expect(thinned([[0, 1], [2, 3], [9, 4]], 5, keepsPeaks)).toEqual(drawn);
  });

  test("a gap is still a gap when points are made fewer", () => {
    // 0..5: known, then unknown; 5..10: unknown; 10..15: known again
    expect(thinned([[0, 1], [3, null], [7, null], [10, 2]], 5, false)).toEqual([[0, 1], [3, null], [7, null], [10, 2]]);
    expect(thinned([[0, null], [3, 1]], 5, false)).toEqual([[3, 1]]);
  });

  test("an axis of bytes ends at a power of two", () => {
    expect(axisEnd(1_500_000, 1_048_576, true)).toBe(2_097_152);
    expect(axisTicks(524_288, true)).toEqual([0, 262_144, 524_288]);
  });

  test("a pushed point goes to its own line and never twice", () => {
    const held = [trace(1, [[10, 5]]), trace(2, [[10, 7]])];
    const pushed = [{ node_id: 1, instance: null, point: [12, 6] as const }];

    const once = append(held, pushed);
    const twice = append(once, pushed);

    expect(once[0]?.points).toEqual([[10, 5], [12, 6]]);
    expect(once[1]?.points).toEqual([[10, 7]]);
    expect(twice).toEqual(once);
  });

  test("points that came in while an answer was under way are kept", () => {
    const fetched = [trace(1, [[8, 1], [10, 2]])];
    const held = [trace(1, [[10, 2], [12, 3]])];

    expect(carryOver(fetched, held)[0]?.points).toEqual([[8, 1], [10, 2], [12, 3]]);
  });

  test("a window keeps one point to the left of its edge", () => {
    expect(clip([[1, 1], [2, 2], [3, 3], [4, 4]], 3)).toEqual([[2, 2], [3, 3], [4, 4]]);
    expect(clip([[1, 1]], 3)).toEqual([]);
  });

  test("missing samples become a gap and are not bridged", () => {
    const points: Point[] = [[0, 1], [2, 1], [20, 1]];

    expect(withGaps(points, 8)).toEqual([[0, 1], [2, 1], [6, null], [20, 1]]);
  });

  test("the usual step is the middle one, so that one pause does not stretch it", () => {
    expect(usualStepS([[0, 1], [2, 1], [4, 1], [104, 1]])).toBe(2);
    expect(usualStepS([])).toBe(2);
  });

  test("the value at an instant is the last known one at or before it", () => {
    const points: Point[] = [[0, 5], [2, null], [4, 7]];

    expect(valueAt(points, 1)).toBe(5);
    expect(valueAt(points, 3)).toBeNull();
    expect(valueAt(points, 9)).toBe(7);
    expect(valueAt(points, -1)).toBeNull();
  });
});

describe("stacking", () => {
  test("shares of one instant add up to 1", () => {
    const columns = stackedColumns([trace(1, [[0, 0.3]]), trace(2, [[0, 0.3]])]);

    expect(columns).toEqual([{ tS: 0, shares: [0.5, 0.5] }]); // 0.3 / (0.3 + 0.3)
  });

  test("an instant without reads is a gap and not an even split", () => {
    const columns = stackedColumns([trace(1, [[0, 0], [2, 1]]), trace(2, [[0, 0], [2, null]])]);

    expect(columns).toEqual([
      { tS: 0, shares: null },
      { tS: 2, shares: [1, 0] },
    ]);
  });

  test("stretches end at a gap in time and at an unknown column", () => {
    const known = (tS: number) => ({ tS, shares: [1] });
    const columns = [known(0), known(2), { tS: 4, shares: null }, known(6), known(60)];

    expect(stretches(columns, 8).map((run) => run.map((column) => column.tS))).toEqual([[0, 2], [6], [60]]);
  });

  test("boundaries are cumulative", () => {
    expect(boundaries([0.25, 0.25, 0.5])).toEqual([0.25, 0.5, 1]);
  });
});

describe("axes", () => {
  test.each([
    [0.4, 1, 1],
    [1.2, 1, 2],
    [2.1, 1, 5],
    [7, 1, 10],
    [10, 1, 10],
    [412, 1, 500],
    [0.013, 0.01, 0.02],
  ])("a highest value of %f ends an axis that began at %f at %f", (highest, least, end) => {
    expect(axisEnd(highest, least)).toBeCloseTo(end, 9);
  });

  test("an axis grows and never shrinks", () => {
    expect(grownEnd([trace(1, [[0, 3], [2, null]])], 1)).toBe(5);
    expect(grownEnd([trace(1, [[0, 0.1]])], 5)).toBe(5);
  });

  test.each([
    [1, [0, 0.5, 1]],
    [2, [0, 1, 2]],
    [5, [0, 2, 4]],
    [500, [0, 200, 400]],
  ])("an axis up to %f is marked at %j", (end, ticks) => {
    expect(axisTicks(end)).toEqual(ticks);
  });

  test("the table is thinned out, newest first", () => {
    const points = Array.from({ length: 10 }, (_, index) => [index, 1] as const);

    expect(tableInstants([trace(1, points)], 5)).toEqual([9, 7, 5, 3, 1]);
  });
});

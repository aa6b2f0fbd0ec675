import { describe, expect, test } from "vitest";

import { changeText, move, percentText, presetWeights, tenthsOf, type WeightRow, WHOLE } from "../src/weights";

function sum(values: readonly number[]): number {
  return values.reduce((one, other) => one + other, 0);
}

const ROWS: readonly WeightRow[] = [
  { nodeId: 0, role: "primary", isUp: true, currentWeight: 0 },
  { nodeId: 1, role: "standby", isUp: true, currentWeight: 1 },
  { nodeId: 2, role: "standby", isUp: false, currentWeight: 3 },
];

describe("tenths", () => {
  test.each([
    [[0, 1, 3], [0, 250, 750]],
    [[1, 1, 1], [333, 333, 334]],
    [[0, 0, 0], [0, 0, 0]],
    [[2.5], [1000]],
  ])("weights %j are %j tenths of a per cent", (weights, tenths) => {
    expect(tenthsOf(weights)).toEqual(tenths);
  });
});

describe("moving one weight", () => {
  test("the others make room in their own proportion", () => {
    // 600 left for 250 : 750 is 150 : 450
    expect(move([0, 250, 750], [false, false, false], 0, 400)).toEqual([400, 150, 450]);
  });

  test("a locked weight stays", () => {
    expect(move([200, 300, 500], [false, true, false], 0, 400)).toEqual([400, 300, 300]);
  });

  test("no weight takes more than the locked ones leave", () => {
    expect(move([200, 300, 500], [false, true, false], 0, 1000)).toEqual([700, 300, 0]);
  });

  test("a locked weight cannot be moved itself", () => {
    expect(move([200, 300, 500], [true, false, false], 0, 900)).toEqual([200, 300, 500]);
  });

  test("where everything else is locked nothing moves", () => {
    expect(move([200, 300, 500], [false, true, true], 0, 900)).toEqual([200, 300, 500]);
  });

  test("others that are all 0 share the rest evenly", () => {
    expect(move([1000, 0, 0], [false, false, false], 0, 500)).toEqual([500, 250, 250]);
  });

  test("the sum is always 100 %, whatever is moved where", () => {
    let tenths: readonly number[] = [333, 333, 334];
    for (let step = 0; step < 500; step += 1) {
      tenths = move(tenths, [false, step % 7 === 0, false], step % 3, (step * 137) % 1300);
      expect(sum(tenths)).toBe(WHOLE);
      expect(Math.min(...tenths)).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("presets", () => {
  test("even means every backend that is up, as whole weights", () => {
    expect(presetWeights(ROWS, "even")).toEqual([1, 1, 0]);
  });

  test("standbys only leaves the primary and those that are down at 0", () => {
    expect(presetWeights(ROWS, "standbys")).toEqual([0, 1, 0]);
  });

  test("back to current gives the weights in force", () => {
    expect(presetWeights(ROWS, "current")).toEqual([0, 1, 3]);
  });

  test("a preset that would leave every backend at 0 is none", () => {
    expect(presetWeights(ROWS.slice(0, 1), "standbys")).toBeNull();
  });
});

test("per cent and changes are written as people write them", () => {
  expect(percentText(334)).toBe("33.4");
  expect(percentText(400)).toBe("40");
  expect(changeText(200)).toBe("+20\u00a0pp");
  expect(changeText(-75)).toBe("−7.5\u00a0pp");
  expect(changeText(0)).toBe("±0\u00a0pp");
});

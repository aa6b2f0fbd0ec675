import { expect, test } from "vitest";

import { linesGone } from "../src/tail_lines";

test.each([
  [[], ["a"], 0],
  [["a", "b"], ["a", "b", "c"], 0],
  [["a", "b", "c"], ["b", "c", "d"], 1],
  [["a", "b", "c"], ["c", "d", "e"], 2],
  [["a", "b"], ["x", "y"], 2],
  // Alike lines: as few as possible.
  [["a", "a", "b"], ["a", "b", "a"], 1],
  // A tail that began anew, shorter than before.
  [["a", "b", "c"], ["c"], 2],
])("of %j, %j has lost %d lines at the top", (before, after, gone) => {
  expect(linesGone(before, after)).toBe(gone);
});

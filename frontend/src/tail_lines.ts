/** How many lines have left at the top of a tail; all where nothing of it is there any more. */
export function linesGone(before: readonly string[], after: readonly string[]): number {
  const isKeptFrom = (count: number): boolean => before.slice(count).every((line, index) => line === after[index]);
  return [...before.keys()].find(isKeptFrom) ?? before.length;
}

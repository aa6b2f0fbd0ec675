/** Weights as the editor moves them: whole tenths of a per cent that always add up to 1000. */
export const WHOLE = 1000;

/** Scale any weights to tenths that add up to 1000 (largest remainders first). All zero stays all zero. */
export function tenthsOf(weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= 0) return weights.map(() => 0);
  return spread(weights.map((weight) => (weight / total) * WHOLE), WHOLE);
}

/** Round to whole numbers that add up to `sum`; what rounding leaves over goes to the largest remainders. */
function spread(exact: readonly number[], sum: number): number[] {
  const whole = exact.map((value) => Math.floor(value + 1e-9));
  const left = Math.round(sum - whole.reduce((one, other) => one + other, 0));
  const byRemainder = exact
    .map((value, index) => ({ index, remainder: value - (whole[index] ?? 0) }))
    .sort((one, other) => other.remainder - one.remainder || other.index - one.index);
  for (const { index } of byRemainder.slice(0, left)) whole[index] = (whole[index] ?? 0) + 1;
  return whole;
}

/**
 * Move one weight and let the unlocked others make room in their own proportion.
 *
 * Locked ones stay. Where nothing else can move, or the locked ones leave less room, the move is cut to what fits.
 */
export function move(tenths: readonly number[], locked: readonly boolean[], moved: number, wanted: number): number[] {
  const free = tenths.map((_, index) => index).filter((index) => index !== moved && !locked[index]);
  if (locked[moved] || free.length === 0) return [...tenths];
  const fixed = tenths.reduce((sum, value, index) => sum + (index !== moved && locked[index] ? value : 0), 0);
  const target = Math.min(Math.max(0, Math.round(wanted)), WHOLE - fixed);
  const rest = WHOLE - fixed - target;
  const held = free.reduce((sum, index) => sum + (tenths[index] ?? 0), 0);
  const shared = spread(
    free.map((index) => (held > 0 ? ((tenths[index] ?? 0) / held) * rest : rest / free.length)),
    rest,
  );
  const result = [...tenths];
  result[moved] = target;
  free.forEach((index, position) => (result[index] = shared[position] ?? 0));
  return result;
}

export interface WeightRow {
  readonly nodeId: number;
  readonly role: string;
  readonly isUp: boolean;
  /** The weight in force, as pgpool.conf says it. */
  readonly currentWeight: number;
}

/** The raw weights of a preset, or null where it would leave every backend at 0. */
export function presetWeights(rows: readonly WeightRow[], preset: string): number[] | null {
  const weights = rows.map((row) => presetWeight(row, preset));
  return weights.some((weight) => weight > 0) ? weights : null;
}

function presetWeight(row: WeightRow, preset: string): number {
  if (preset === "current") return row.currentWeight;
  const isWanted = preset === "even" || (preset === "standbys" && row.role !== "primary");
  return isWanted && row.isUp ? 1 : 0;
}

export function percentText(tenths: number): string {
  return (tenths / 10).toFixed(tenths % 10 === 0 ? 0 : 1);
}

/** A change in percentage points with its sign: "+20 pp", "−7.5 pp", "±0 pp". */
export function changeText(tenths: number): string {
  const sign = tenths > 0 ? "+" : tenths < 0 ? "−" : "±";
  return `${sign}${percentText(Math.abs(tenths))}\u00a0pp`;
}

/** Figures as people read them: a value, a space that does not break, a unit. */
const SPACE = "\u00a0";
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;
/** Where nothing is known. */
export const NOTHING = "–";

export function plainNumber(value: number, fractionDigits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: fractionDigits, maximumFractionDigits: fractionDigits });
}

export function byteCount(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${plainNumber(value, unit < 2 ? 0 : 1)}${SPACE}${BYTE_UNITS[unit] ?? "B"}`;
}

function isShare(unit: string): boolean {
  return unit === "share" || unit === "ratio" || unit === "1" || unit === "";
}

export function isBytes(unit: string): boolean {
  return unit === "bytes" || unit === "B";
}

/** A value in the unit that the series API names. Shares and ratios (0..1) are shown in per cent. */
export function figure(value: number | null, unit: string): string {
  if (value === null || !Number.isFinite(value)) return NOTHING;
  if (isShare(unit)) return `${plainNumber(value * 100, 1)}${SPACE}%`;
  if (isBytes(unit)) return byteCount(value);
  // Two runs of more than 100 differ by more than their decimals.
  if (unit === "tps") return `${plainNumber(value, Math.abs(value) < 99.995 ? 2 : 0)}${SPACE}${unit}`;
  const size = Math.abs(value);
  // A rate above 10 needs no decimals: between two polls it moves by more.
  const isWhole = size >= 100 || Number.isInteger(value) || (size >= 9.995 && unit.endsWith("/s"));
  const fractionDigits = isWhole ? 0 : size >= 10 ? 1 : 2;
  return `${plainNumber(value, fractionDigits)}${SPACE}${unit}`;
}

/** A difference, as +5.2 % or −5.2 %. */
export function signedPercent(percent: number): string {
  return `${percent < 0 ? "−" : "+"}${plainNumber(Math.abs(percent), 1)}${SPACE}%`;
}

/** Written out, longer figures would not fit beside an axis. */
const COMPACT_FROM = 100_000;

/** A mark of an axis: as short as it can be said. */
export function axisFigure(value: number, unit: string): string {
  if (isShare(unit)) return `${plainNumber(value * 100, 0)}${SPACE}%`;
  if (isBytes(unit)) return byteCount(value).replace(".0", "");
  if (unit === "ms" && value >= 1000) return axisFigure(value / 1000, "s");
  if (value >= COMPACT_FROM) return value.toLocaleString("en", { notation: "compact" });
  const fractionDigits = Number.isInteger(value) ? 0 : value < 0.1 ? 2 : 1;
  // Long units stand in the title of the panel; beside the axis they would not fit.
  return unit.length <= 2 ? `${plainNumber(value, fractionDigits)}${SPACE}${unit}` : plainNumber(value, fractionDigits);
}

/** What is a little ahead has just happened: clocks of two machines differ by that. */
const AHEAD_S = 10;

/** How long ago, or in how long, in the largest unit that still says something. */
export function agoText(seconds: number): string {
  if (seconds <= -AHEAD_S) return inText(-seconds);
  const ageS = Math.max(0, Math.round(seconds));
  if (ageS < 60) return `${ageS}${SPACE}s ago`;
  if (ageS < 3600) return `${Math.floor(ageS / 60)}${SPACE}min ago`;
  if (ageS < 86_400) return `${Math.floor(ageS / 3600)}${SPACE}h ago`;
  return `${daysText(Math.floor(ageS / 86_400))} ago`;
}

/** Of what is still to come, to the nearest unit. */
function inText(seconds: number): string {
  const [leftS, min, h] = [Math.round(seconds), Math.round(seconds / 60), Math.round(seconds / 3600)];
  if (leftS < 60) return `in ${leftS}${SPACE}s`;
  if (min < 60) return `in ${min}${SPACE}min`;
  return h < 24 ? `in ${h}${SPACE}h` : `in ${daysText(Math.round(seconds / 86_400))}`;
}

function daysText(days: number): string {
  return `${days}${SPACE}day${days === 1 ? "" : "s"}`;
}

export function clockUtc(tS: number): string {
  return new Date(tS * 1000).toISOString().slice(11, 19);
}

export function instantUtc(tS: number): string {
  return `${new Date(tS * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

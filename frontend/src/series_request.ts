/** Asking the series API for a window, and saying in one sentence why it did not answer. */
import { isSeriesAnswer, type SeriesAnswer } from "./wire";

/** More points than a chart has pixels would only cost time. */
const POINTS = 360;

export class SeriesUnavailable extends Error {}

/** Without an end, up to now. */
export function seriesUrl(source: string, page: string, metric: string, startS: number, endS?: number): string {
  const url = new URL(source, page);
  if (metric) url.searchParams.set("metric", metric);
  url.searchParams.set("start", new Date(startS * 1000).toISOString());
  if (endS !== undefined) url.searchParams.set("end", new Date(endS * 1000).toISOString());
  if (!url.searchParams.has("points")) url.searchParams.set("points", String(POINTS));
  return url.href;
}

/** Raises SeriesUnavailable with a sentence for people. */
export async function fetchSeries(url: string, signal: AbortSignal): Promise<SeriesAnswer> {
  const path = new URL(url).pathname;
  let response: Response;
  try {
    response = await fetch(url, { signal, headers: { Accept: "application/json" }, credentials: "same-origin" });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new SeriesUnavailable(`No answer from ${path}.`);
  }
  if (!response.ok) throw new SeriesUnavailable(await refusal(response, path));
  const answer: unknown = await response.json();
  if (!isSeriesAnswer(answer)) throw new SeriesUnavailable(`${path} answered something that is not a series.`);
  return answer;
}

/** What the server says is wrong and what would be right, where it does (problem+json). */
async function refusal(response: Response, path: string): Promise<string> {
  const plain = `No answer from ${path} (${response.status})`;
  if (!response.headers.get("Content-Type")?.startsWith("application/problem+json")) return `${plain}.`;
  const problem: unknown = await response.json().catch(() => null);
  const isTold = typeof problem === "object" && problem !== null && "detail" in problem && typeof problem.detail === "string";
  return isTold ? `${plain}: ${problem.detail}` : `${plain}.`;
}

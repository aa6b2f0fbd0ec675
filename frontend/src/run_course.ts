/** Asking for the time course of a benchmark run; charts of one page that ask at once share one answer. */
import { SeriesUnavailable } from "./series_request";
import { type CourseAnswer, isCourseAnswer } from "./wire";

const asked = new Map<string, Promise<CourseAnswer>>();

/** Raises SeriesUnavailable with a sentence for people. */
export function fetchCourse(source: string): Promise<CourseAnswer> {
  const url = new URL(source, location.href).href;
  const held = asked.get(url);
  if (held) return held;
  const answer = ask(url).finally(() => asked.delete(url));
  asked.set(url, answer);
  return answer;
}

async function ask(url: string): Promise<CourseAnswer> {
  const path = new URL(url).pathname;
  let response: Response;
  try {
    response = await fetch(url, { headers: { Accept: "application/json" }, credentials: "same-origin" });
  } catch {
    throw new SeriesUnavailable(`No answer from ${path}.`);
  }
  if (!response.ok) throw new SeriesUnavailable(`No answer from ${path} (${response.status}).`);
  const answer: unknown = await response.json();
  if (!isCourseAnswer(answer)) throw new SeriesUnavailable(`${path} answered something that is not a time course.`);
  return answer;
}

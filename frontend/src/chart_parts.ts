/** The HTML around a drawing: readouts, the table with the same figures, the word about a failed fetch. */
import { isDashed, tokenOf } from "./chart_theme";
import { element } from "./elements";
import { valueAt, tableInstants, type Trace } from "./traces";
import { clockUtc, figure, instantUtc } from "./values";

const TABLE_ROWS = 60;

/** A cell per trace with its colour, name and value, and what else the drawing shows. */
export function readout(traces: readonly Trace[], isShare: boolean): HTMLElement[] {
  const cells = traces.map((trace, position) => {
    const mark = element("i", isShare ? "sw" : `ln${isDashed(trace, position) ? " d" : ""}`);
    mark.style.setProperty("--c", `var(--${tokenOf(trace, position)})`);
    const value = element("b", isShare ? "w5" : "w9", "–");
    value.dataset["k"] = trace.key;
    return element("span", "", mark, `${trace.name} `, value);
  });
  if (!isShare) return cells;
  const wanted = element("i", "ln d");
  wanted.style.setProperty("--c", "var(--text)");
  return [...cells, element("span", "", wanted, "weight"), element("span", "", element("i", "bd"), "±3\u00a0pp")];
}

/** Show the values at one instant. */
export function fillReadout(place: HTMLElement, traces: readonly Trace[], tS: number, unit: string): void {
  const values = place.querySelectorAll<HTMLElement>("b[data-k]");
  for (const value of values) {
    const trace = traces.find((candidate) => candidate.key === value.dataset["k"]);
    const text = figure(trace ? valueAt(trace.points, tS) : null, unit);
    if (value.textContent !== text) value.textContent = text;
  }
}

/** The answer in words, for those who do not see the drawing. */
export function spokenSummary(label: string, traces: readonly Trace[], tS: number | null, unit: string): string {
  if (tS === null) return `${label}: no data yet.`;
  const values = traces.map((trace) => `${trace.name} ${figure(valueAt(trace.points, tS), unit)}`);
  return `${label}: ${values.join(", ")} at ${clockUtc(tS)} UTC.`;
}

export function tableOf(traces: readonly Trace[], unit: string): HTMLTableElement {
  const head = element("tr", "", element("th", "", "Time, UTC"));
  head.append(...traces.map((trace) => element("th", "num", trace.name)));
  const body = tableInstants(traces, TABLE_ROWS).map((tS) => {
    const row = element("tr", "", element("td", "nw", instantUtc(tS).slice(0, 19)));
    row.append(...traces.map((trace) => element("td", "num", figure(valueAt(trace.points, tS), unit))));
    return row;
  });
  return element("table", "t tight", element("thead", "", head), element("tbody", "", ...body));
}

export function problemNote(text: string, tryAgain: () => void): HTMLElement {
  const button = element("button", "link", "Try again");
  button.type = "button";
  button.addEventListener("click", tryAgain);
  const note = element("p", "problem", text, button);
  note.setAttribute("role", "status");
  return note;
}

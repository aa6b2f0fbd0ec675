/** The HTML around a drawing: readouts, the table with the same figures, the word about a failed fetch. */
import { isDashed, tokenOf } from "./chart_theme";
import { element } from "./elements";
import { valueAt, tableInstants, type Trace } from "./traces";
import { clockUtc, figure, instantUtc, NOTHING } from "./values";

const TABLE_ROWS = 60;

/** Lines in one unit. A chart may have a second layer beside the drawn one, of the same lines in another unit. */
export interface Layer {
  readonly traces: readonly Trace[];
  readonly unit: string;
}

/** A cell per trace with its colour, name and value, and what else the drawing shows. */
export function readout(traces: readonly Trace[], compared: readonly Trace[], width: ValueWidth): HTMLElement[] {
  const isShare = width === "share";
  const cells = traces.map((trace, position) => {
    const mark = element("i", isShare ? "sw" : `ln${isDashed(trace, position) ? " d" : ""}`);
    return readoutCell(mark, tokenOf(trace, position), trace, width);
  });
  const references = compared.map((trace) => readoutCell(element("i", "ln d"), "text-3", trace, width));
  if (!isShare) return [...cells, ...references];
  return [...cells, element("span", "", element("i", "bd"), "weight ±3\u00a0pp")];
}

/** Class of a value, which reserves room for the widest one so that nothing moves: 100.0 %; 20.2 ms; 0.2 s, 96 KiB. */
export type ValueWidth = "share" | "figure" | "figures";

function readoutCell(mark: HTMLElement, token: string, trace: Trace, width: ValueWidth): HTMLElement {
  mark.style.setProperty("--c", `var(--${token})`);
  const value = element("b", width, NOTHING);
  value.dataset["k"] = trace.key;
  return element("span", "", mark, `${trace.name} `, value);
}

/** Show the values at one instant. */
export function fillReadout(place: HTMLElement, layers: readonly Layer[], tS: number): void {
  for (const value of place.querySelectorAll<HTMLElement>("b[data-k]")) {
    const text = figuresAt(layers, value.dataset["k"] ?? "", tS);
    if (value.textContent !== text) value.textContent = text;
  }
}

/** One line in each unit: 0.2 s, 96 KiB. */
function figuresAt(layers: readonly Layer[], key: string, tS: number): string {
  const figures = layers.flatMap(({ traces, unit }) => {
    const trace = traces.find((candidate) => candidate.key === key);
    return trace ? figure(valueAt(trace.points, tS), unit) : [];
  });
  return figures.every((text) => text === NOTHING) ? NOTHING : figures.join(", ");
}

/** The answer in words, for those who do not see the drawing. */
export function spokenSummary(label: string, layers: readonly Layer[], tS: number | null): string {
  const named = new Map(layers.flatMap(({ traces }) => traces.map((trace) => [trace.key, trace.name] as const)));
  if (tS === null) return `${label}: no data yet.`;
  const values = [...named].map(([key, name]) => `${name} ${figuresAt(layers, key, tS)}`);
  return `${label}: ${values.join(", ")} at ${clockUtc(tS)} UTC.`;
}

export function tableOf(layers: readonly Layer[]): HTMLTableElement {
  const columns = layers.flatMap(({ traces, unit }) => traces.map((trace) => ({ trace, unit })));
  const head = element("tr", "", element("th", "", "Time, UTC"), ...columns.map(({ trace }) => element("th", "num", trace.name)));
  const body = tableInstants(layers[0]?.traces ?? [], TABLE_ROWS).map((tS) => {
    const row = element("tr", "", element("td", "nw", instantUtc(tS).slice(0, 19)));
    row.append(...columns.map(({ trace, unit }) => element("td", "num", figure(valueAt(trace.points, tS), unit))));
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

/** Colours of the tokens as Plotly needs them, and Plotly itself, loaded when a first chart asks for it. */
import type { Plotly } from "plotly.js-basic-dist-min";

export interface ChartTheme {
  readonly text: string;
  readonly text2: string;
  readonly text3: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly surface: string;
  readonly warn: string;
  readonly warnMark: string;
  readonly nodes: readonly string[];
}

const NODE_COLOURS = 8;

/** A custom property that holds light-dark() is resolved only where it is used as a colour. */
function resolver(): { colour(token: string): string; close(): void } {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.hidden = true;
  return {
    colour(token) {
      probe.style.color = `var(--${token})`;
      return getComputedStyle(probe).color;
    },
    close: () => probe.remove(),
  };
}

export function chartTheme(): ChartTheme {
  const { colour, close } = resolver();
  const theme = {
    text: colour("text"),
    text2: colour("text-2"),
    text3: colour("text-3"),
    line: colour("line"),
    lineStrong: colour("line-strong"),
    surface: colour("surface"),
    warn: colour("warn"),
    warnMark: colour("warn-mark"),
    nodes: Array.from({ length: NODE_COLOURS }, (_, node) => colour(`node-${node}`)),
  };
  close();
  return theme;
}

/** The colour with another opacity. `colour` is as browsers compute it: rgb(…), rgba(…) or color(srgb …). */
export function withAlpha(colour: string, alpha: number): string {
  const scale = colour.startsWith("color(") ? 255 : 1;
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map((part) => Math.round(Number(part) * scale));
  return `rgba(${red},${green},${blue},${alpha})`;
}

let loading: Promise<Plotly> | null = null;

export function loadPlotly(): Promise<Plotly> {
  loading ??= fetchPlotly();
  return loading;
}

async function fetchPlotly(): Promise<Plotly> {
  refuseInlineStyles();
  const module = await import("plotly.js-basic-dist-min");
  return module.default;
}

/** Plotly looks for this element before it writes a style element; its rules stand in styles/components/plotly.css. */
function refuseInlineStyles(): void {
  const mark = document.createElement("meta");
  mark.id = "plotly.js-style-global";
  mark.className = "no-inline-styles";
  document.head.append(mark);
}

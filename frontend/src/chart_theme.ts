/** Colours of the tokens as Plotly needs them, and Plotly itself, loaded when a first chart asks for it. */
import type { Plotly } from "plotly.js-basic-dist-min";

const TOKENS = ["text", "text-2", "text-3", "line", "line-strong", "surface", "warn", "warn-mark", "accent", "ok", "crit"] as const;
const NODE_TOKENS = ["node-0", "node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-7"] as const;
/** Lines without a node (one per pgpool) are told apart by grey and dash: colours belong to nodes. */
const GREYS = ["text", "text-3", "text-2"] as const;

export type Token = (typeof TOKENS)[number] | (typeof NODE_TOKENS)[number];
/** Colour of each token, as the browser computed it. */
export type ChartTheme = Readonly<Record<Token, string>>;

type Line = { readonly nodeId: number | null };

/** The colour of a line goes by its node, for ever and on every page. */
export function tokenOf(line: Line, position: number): Token {
  const token = line.nodeId === null ? GREYS[position % GREYS.length] : NODE_TOKENS[line.nodeId % NODE_TOKENS.length];
  return token ?? "text";
}

/** Past the palette colours come again, with a dash. */
export function isDashed(line: Line, position: number): boolean {
  return line.nodeId === null ? position >= 2 : line.nodeId >= NODE_TOKENS.length;
}

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
  const theme = Object.fromEntries([...TOKENS, ...NODE_TOKENS].map((token) => [token, colour(token)]));
  close();
  return theme as ChartTheme;
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

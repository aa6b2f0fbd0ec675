/**
 * The go-to palette: every place that the page links to in its navigation, and what the JSON script
 * `palette-places` adds ([{title, url, note}]).
 */
import { element, openDialog } from "./elements";

export interface Place {
  readonly title: string;
  readonly url: string;
  readonly note: string;
}

/** Places whose title or note has all the words, in the order given. */
export function matching(places: readonly Place[], query: string): Place[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return places.filter((place) => {
    const text = `${place.title} ${place.note}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function placesOfPage(): Place[] {
  const script = document.getElementById("palette-places");
  const given = script === null ? [] : (JSON.parse(script.textContent ?? "[]") as readonly Place[]);
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".side .nav a[href], .tabs a[href], a[data-palette]")];
  const linked = links.map((link) => ({ title: titleOf(link), url: link.href, note: link.dataset["palette"] ?? "" }));
  const byUrl = new Map([...linked, ...given].map((place) => [new URL(place.url, location.href).href, place]));
  return [...byUrl.values()].filter((place) => place.title !== "");
}

/** The words of a link without the count behind them. */
function titleOf(link: HTMLAnchorElement): string {
  const copy = link.cloneNode(true) as HTMLAnchorElement;
  copy.querySelectorAll(".n").forEach((count) => count.remove());
  return copy.textContent?.trim() ?? "";
}

export function openPalette(): void {
  if (document.querySelector("dialog[open]")) return;
  const places = placesOfPage();
  const input = element("input", "");
  input.placeholder = "Go to a cluster or page";
  input.setAttribute("aria-label", "Go to");
  const list = element("ul", "");
  let chosen = 0;
  const show = (): void => {
    const rows = matching(places, input.value).map((place, index) => rowOf(place, index === chosen));
    list.replaceChildren(...(rows.length > 0 ? rows : [element("li", "q", "Nothing matches. Try a cluster name.")]));
    list.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
  };
  input.addEventListener("input", () => {
    chosen = 0;
    show();
  });
  input.addEventListener("keydown", (event) => {
    const count = matching(places, input.value).length;
    if (event.key === "ArrowDown") chosen = Math.min(chosen + 1, count - 1);
    else if (event.key === "ArrowUp") chosen = Math.max(chosen - 1, 0);
    else if (event.key === "Enter") list.querySelector<HTMLAnchorElement>("[aria-current=true]")?.click();
    else return;
    event.preventDefault();
    show();
  });
  show();
  openDialog("Go to", element("div", "palette", input, list));
  input.focus();
}

function rowOf(place: Place, isChosen: boolean): HTMLElement {
  const link = element("a", "", element("span", "md", place.title), element("span", "q", place.note));
  link.href = place.url;
  link.setAttribute("aria-current", String(isChosen));
  return element("li", "", link);
}

/**
 * The go-to palette: every place that the page links to in its navigation, and what the JSON script
 * `palette-places` adds ([{title, url, note}]).
 */
import { element } from "./elements";

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
  const linked = links.map((link) => ({ title: titleOf(link), url: link.href, note: noteOf(link) }));
  return withoutRepeats([...linked, ...given], location.href).filter((place) => place.title !== "");
}

/** Of places with one address the first stays: a cluster is called by its name and not "Overview". */
export function withoutRepeats(places: readonly Place[], page: string): Place[] {
  const addresses = places.map((place) => new URL(place.url, page).href);
  return places.filter((_, index) => addresses.indexOf(addresses[index] ?? "") === index);
}

/** Tabs are named by what they belong to. */
function noteOf(link: HTMLAnchorElement): string {
  return link.dataset["palette"] ?? link.closest(".tabs")?.getAttribute("aria-label") ?? "";
}

/** The words of a link without the count behind them, or what is said to the ear only. */
function titleOf(link: HTMLAnchorElement): string {
  const copy = link.cloneNode(true) as HTMLAnchorElement;
  copy.querySelectorAll(".n, .sr").forEach((aside) => aside.remove());
  return copy.textContent?.trim() ?? "";
}

/** Give life to <dialog data-dialog="palette">, which the frame of every page holds. */
export function setUpPalette(): void {
  const dialog = document.querySelector<HTMLDialogElement>("dialog[data-dialog=palette]");
  const input = dialog?.querySelector("input");
  const list = dialog?.querySelector("ul");
  if (!dialog || !input || !list) return;
  let chosen = 0;
  const show = (): void => {
    const rows = matching(placesOfPage(), input.value).map((place, index) => rowOf(place, index === chosen));
    list.replaceChildren(...(rows.length > 0 ? rows : [element("li", "q", "Nothing matches. Try a cluster name.")]));
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  };
  const choose = (place: number): void => {
    chosen = Math.max(0, place);
    show();
  };
  // Opening the dialog puts the focus here.
  input.addEventListener("focus", () => choose(chosen));
  input.addEventListener("input", () => choose(0));
  input.addEventListener("keydown", (event) => {
    const latest = matching(placesOfPage(), input.value).length - 1;
    if (event.key === "ArrowDown") choose(Math.min(chosen + 1, latest));
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter") list.querySelector<HTMLAnchorElement>("a[aria-current]")?.click();
    else return;
    event.preventDefault();
  });
}

function rowOf(place: Place, isChosen: boolean): HTMLElement {
  const link = element("a", "", element("span", "md", place.title), element("span", "q", place.note));
  link.href = place.url;
  if (isChosen) link.setAttribute("aria-current", "true");
  return element("li", "", link);
}

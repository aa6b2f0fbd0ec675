/**
 * <input type="search" name="q" data-filters="fleet">: hides the rows in #fleet whose data-q lacks one of the words, and
 * unfolds what holds those that are left.
 * The words stand in the address, so that a copied link shows the same; [data-shown] says how many rows are left, and
 * [data-none-left] is shown when none are.
 * Without scripts the form around it asks the server.
 */
export function watchFilters(): void {
  document.addEventListener("input", (event) => {
    if (event.target instanceof HTMLInputElement && event.target.dataset["filters"]) {
      filter(event.target);
      remember(event.target);
    }
  });
  // A refreshed table comes with all its rows.
  document.addEventListener("htmx:after:swap", filterAll);
  filterAll();
}

function filterAll(): void {
  document.querySelectorAll<HTMLInputElement>("input[data-filters]").forEach(filter);
}

export function hasAllWords(text: string, query: string): boolean {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => text.toLowerCase().includes(word));
}

function filter(input: HTMLInputElement): void {
  const table = document.getElementById(input.dataset["filters"] ?? "");
  if (table === null) return;
  const rows = [...table.querySelectorAll<HTMLElement>("tbody tr[data-q]")];
  rows.forEach((row) => (row.hidden = !hasAllWords(row.dataset["q"] ?? "", input.value)));
  unfold(table, input.value.trim() !== "");
  const shown = rows.filter((row) => !row.hidden).length;
  const nothing = document.querySelector<HTMLElement>("[data-none-left]");
  if (nothing !== null) nothing.hidden = shown > 0 || rows.length === 0;
  document.querySelectorAll("[data-shown]").forEach((place) => (place.textContent = `${shown} of ${rows.length}`));
}

/** What was unfolded for the words alone is folded again without them. */
function unfold(table: HTMLElement, isAsked: boolean): void {
  for (const fold of table.querySelectorAll("details")) {
    if (isAsked && !fold.open && fold.querySelector("tr[data-q]:not([hidden])") !== null) {
      fold.open = true;
      fold.dataset["unfolded"] = "";
    } else if (!isAsked && fold.dataset["unfolded"] !== undefined) {
      fold.open = false;
      delete fold.dataset["unfolded"];
    }
  }
}

function remember(input: HTMLInputElement): void {
  const url = new URL(location.href);
  const query = input.value.trim();
  if (query) url.searchParams.set(input.name || "q", query);
  else url.searchParams.delete(input.name || "q");
  history.replaceState(history.state, "", url);
}

/**
 * Keys: `/` filter, j and k in a table[data-keyboard] (Enter follows the focused link), w weights of the row or cluster,
 * g and a letter for a[data-go="<letter>"], ? the list of keys, ⌘K or Ctrl-K the palette.
 */
import { openDialog } from "./dialogs";

const CHORD_MS = 900;
/** Of the row on the fleet page; on a page of one cluster its tab, but where it is open already, a draft would be lost. */
const WEIGHTS = "tr[data-cur] a[data-weights], .tabs a[data-weights]:not([aria-current])";

let chordStartedMs = -Infinity;

export function watchKeyboard(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key === "k") {
      event.preventDefault();
      openDialog("palette");
    } else if (!event.metaKey && !event.ctrlKey && !event.altKey) {
      press(event);
    }
  });
}

function press(event: KeyboardEvent): void {
  const target = event.target instanceof HTMLElement ? event.target : null;
  const isTyping = target?.matches("input, textarea, select, [contenteditable]") ?? false;
  if (isTyping || document.querySelector("dialog[open]")) {
    if (event.key === "Escape" && isTyping) target?.blur();
    return;
  }
  if (Date.now() - chordStartedMs < CHORD_MS) {
    chordStartedMs = -Infinity;
    document.querySelector<HTMLAnchorElement>(`a[data-go="${CSS.escape(event.key)}"]`)?.click();
  } else if (event.key === "g") chordStartedMs = Date.now();
  else if (event.key === "/") focusFilter(event);
  else if (event.key === "?") openDialog("help");
  else if (event.key === "j" || event.key === "k") moveRow(event.key === "j" ? 1 : -1);
  else if (event.key === "w") document.querySelector<HTMLAnchorElement>(WEIGHTS)?.click();
}

function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLInputElement>("input[type=search]");
  if (filter === null) return;
  event.preventDefault();
  filter.focus();
}

function moveRow(step: 1 | -1): void {
  const all = document.querySelectorAll<HTMLElement>("table[data-keyboard] tbody tr:has(a[href]):not([hidden])");
  const rows = [...all].filter((row) => row.checkVisibility());
  const current = rows.findIndex((row) => row.hasAttribute("data-cur"));
  const next = rows[Math.min(Math.max(0, current + step), rows.length - 1)];
  if (next === undefined) return;
  document.querySelectorAll("tr[data-cur]").forEach((row) => row.removeAttribute("data-cur"));
  next.setAttribute("data-cur", "");
  next.scrollIntoView({ block: "nearest" });
  next.querySelector<HTMLAnchorElement>("a[href]")?.focus({ preventScroll: true });
}

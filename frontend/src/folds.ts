import { keepTyped } from "./kept_fields";

/**
 * What is folded: a[data-unfolds="<id>"] opens every <details> in there, or folds them where all are open; an address
 * that ends in #<id> unfolds what holds it. select[data-submits] asks as soon as something is chosen.
 * Without scripts the link and the button beside it ask the server.
 */
export function watchFolds(): void {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>("a[data-unfolds]") : null;
    const place = document.getElementById(link?.dataset["unfolds"] ?? "");
    if (link === null || place === null) return;
    event.preventDefault();
    toggleAll(link, [...place.querySelectorAll("details")]);
  });
  document.addEventListener("change", (event) => {
    if (!(event.target instanceof HTMLSelectElement) || !event.target.matches("[data-submits]")) return;
    const choice = event.target.form;
    if (choice?.matches(".choose")) keepTyped(choice);
    choice?.requestSubmit();
  });
  window.addEventListener("hashchange", showTarget);
  showTarget();
}

function toggleAll(link: HTMLElement, folds: readonly HTMLDetailsElement[]): void {
  const isOpening = folds.some((fold) => !fold.open);
  folds.forEach((fold) => (fold.open = isOpening));
  link.textContent = isOpening ? "Fold all" : "Open all";
}

function showTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target?.closest("details");
  if (!target || !fold || fold.open) return;
  fold.open = true;
  target.scrollIntoView({ block: "center" });
}

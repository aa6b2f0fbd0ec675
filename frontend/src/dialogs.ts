/**
 * Dialogs that the page holds: [data-open="palette"] opens <dialog data-dialog="palette">, and [data-close] inside or a
 * click beside it closes it. The browser itself closes it on Escape.
 */
export function openDialog(name: string): void {
  const dialog = document.querySelector<HTMLDialogElement>(`dialog[data-dialog="${CSS.escape(name)}"]`);
  if (dialog && !document.querySelector("dialog[open]")) dialog.showModal();
}

export function watchDialogs(): void {
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const opener = event.target.closest<HTMLElement>("[data-open]");
    if (opener) openDialog(opener.dataset["open"] ?? "");
    else if (event.target instanceof HTMLDialogElement) event.target.close();
    else if (event.target.closest("[data-close]")) event.target.closest("dialog")?.close();
  });
}

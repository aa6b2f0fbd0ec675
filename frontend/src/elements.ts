/** Making elements and dialogs. */

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  if (className) created.className = className;
  created.append(...children);
  return created;
}

/** A dialog that goes away when it is closed; a click beside it closes it. */
export function openDialog(label: string, content: HTMLElement): HTMLDialogElement {
  const dialog = element("dialog", "", content);
  dialog.setAttribute("aria-label", label);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Making elements. */

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

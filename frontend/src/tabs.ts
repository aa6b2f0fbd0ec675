/** On a narrow screen the row of tabs scrolls: the tab of this page comes into view. */

export function showCurrentTab(): void {
  const tabs = document.querySelector<HTMLElement>(".tabs");
  const current = tabs?.querySelector<HTMLElement>("[aria-current]");
  if (tabs && current) tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
}

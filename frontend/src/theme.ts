/** Switching between light and dark; public/theme.js applies the choice before the first paint. */
const STORAGE_KEY = "lifeguard-theme";
const SYSTEM_DARK = "(prefers-color-scheme: dark)";

export function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === undefined ? matchMedia(SYSTEM_DARK).matches : chosen === "dark";
}

/** Tell charts, which hold resolved colours, that the theme changed. */
function announce(): void {
  document.body.dispatchEvent(new CustomEvent("theme-changed"));
}

function flip(): void {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // Storage may be forbidden; the choice then holds for this page.
  }
  announce();
}

export function watchTheme(): void {
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-theme-switch]")) flip();
  });
  matchMedia(SYSTEM_DARK).addEventListener("change", announce);
}

// Loaded before the first paint, so that a chosen theme does not flash. Switching it is src/theme.ts.
(function () {
  try {
    var theme = localStorage.getItem("lifeguard-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (error) {
    // Storage may be forbidden; the system's preference then decides.
  }
})();

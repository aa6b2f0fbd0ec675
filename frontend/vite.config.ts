/** How the browser's part is built: one entry, one manifest for Django, nothing fetched from elsewhere. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/static/",
  build: {
    outDir: "dist",
    manifest: "manifest.json",
    // light-dark() and color-mix() are left as they are written: browsers of 2024 and later.
    target: ["chrome123", "firefox121", "safari17.5"],
    rolldownOptions: { input: { main: "src/main.ts" } },
    // Plotly's basic bundle is 1.2 MB and is loaded only by pages that have a chart.
    chunkSizeWarningLimit: 1300,
    assetsInlineLimit: 0,
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});

/**
 * <cache-writes-chart src="/api/v1/clusters/orders/cache/" storage="shmem" label="…">
 *
 * How many times the reads a cache serves while its table is written, as the latest calibration with writes measured it.
 */
import { cacheWritesFigure } from "./cache_writes_figure";
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { FetchedDrawing } from "./fetched_drawing";
import { type CacheAnswer, isCacheAnswer } from "./wire";

export class CacheWritesChart extends FetchedDrawing<CacheAnswer> {
  protected isAnswer(value: unknown): value is CacheAnswer {
    return isCacheAnswer(value);
  }

  protected spoken(answer: CacheAnswer): string {
    return answer.under_writes?.curves.map((curve) => curve.sentence).join(" ") || "Nothing was measured under writes yet.";
  }

  protected figure(answer: CacheAnswer, theme: ChartTheme): Figure | null {
    return cacheWritesFigure(answer.under_writes?.curves ?? [], this.getAttribute("storage") ?? "both", theme);
  }
}

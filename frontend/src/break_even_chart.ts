/**
 * <break-even-chart src="/api/v1/clusters/orders/cache/" storage="shmem" axis="operating" label="…">
 *
 * Reads per second over the hit ratio, as the latest calibration measured it, with where the cluster stands now.
 * storage: both for all that were measured. axis: cumulative for the ratio since the start of a cache that warms up.
 */
import { type Axis, breakEvenFigure } from "./break_even_figure";
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { FetchedDrawing } from "./fetched_drawing";
import { type CacheAnswer, isCacheAnswer } from "./wire";

export class BreakEvenChart extends FetchedDrawing<CacheAnswer> {
  protected isAnswer(value: unknown): value is CacheAnswer {
    return isCacheAnswer(value);
  }

  protected spoken({ calibration }: CacheAnswer): string {
    const said = calibration?.curves.map((curve) => curve.sentence) ?? [];
    return said.join(" ") || "Nothing was measured yet.";
  }

  protected figure(answer: CacheAnswer, theme: ChartTheme): Figure | null {
    const axis: Axis = this.getAttribute("axis") === "cumulative" ? "cumulative" : "operating";
    return breakEvenFigure(answer, this.getAttribute("storage") ?? "both", axis, theme);
  }
}

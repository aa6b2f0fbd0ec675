/**
 * <break-even-chart src="/api/v1/clusters/orders/cache/" storage="shmem" axis="operating" label="…">
 *
 * Reads per second over the hit ratio, as the latest calibration measured it, with where the cluster stands now.
 * storage: both for all that were measured. axis: cumulative for the ratio since the start of a cache that warms up.
 */
import { type Axis, breakEvenFigure, curvesOf } from "./break_even_figure";
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { FetchedDrawing } from "./fetched_drawing";
import { type CacheAnswer, isCacheAnswer, isPublishedAnswer, type PublishedAnswer } from "./wire";

export class BreakEvenChart extends FetchedDrawing<CacheAnswer | PublishedAnswer> {
  protected isAnswer(value: unknown): value is CacheAnswer | PublishedAnswer {
    return isCacheAnswer(value) || isPublishedAnswer(value);
  }

  protected spoken(answer: CacheAnswer | PublishedAnswer): string {
    const said = curvesOf(answer).map((curve) => curve.sentence);
    return said.join(" ") || "Nothing was measured yet.";
  }

  protected figure(answer: CacheAnswer | PublishedAnswer, theme: ChartTheme): Figure | null {
    const axis: Axis = this.getAttribute("axis") === "cumulative" ? "cumulative" : "operating";
    const place = isCacheAnswer(answer) ? answer : null;
    return breakEvenFigure(curvesOf(answer), place, this.getAttribute("storage") ?? "both", axis, theme);
  }
}

/**
 * <warm-up-chart src="/api/v1/clusters/orders/cache/warm-up/?keys=50000&per_s=420" label="…">
 *
 * The hit ratio of the moment and the one since the start over time, of a cache that was empty, with when it pays.
 */
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { FetchedDrawing } from "./fetched_drawing";
import { warmUpFigure } from "./warm_up_figure";
import { type ForecastAnswer, isForecastAnswer } from "./wire";

export class WarmUpChart extends FetchedDrawing<ForecastAnswer> {
  static readonly observedAttributes = ["src"];

  /** Other keys or another rate were asked for. The first value comes before the element is connected, or with it. */
  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== null && before !== after && this.isConnected) void this.load();
  }

  protected isAnswer(value: unknown): value is ForecastAnswer {
    return isForecastAnswer(value);
  }

  protected spoken(answer: ForecastAnswer): string {
    return answer.between_writes === null ? answer.sentence : `${answer.sentence} ${answer.between_writes.sentence}`;
  }

  protected figure(answer: ForecastAnswer, theme: ChartTheme): Figure | null {
    return warmUpFigure(answer, theme);
  }
}

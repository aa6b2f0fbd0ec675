/**
 * <sweep-chart src="/api/v1/benchmarks/comparisons/7/" label="Rate over clients">
 *
 * The curve of a sweep. The same figures stand in a table of the page.
 */
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { FetchedDrawing } from "./fetched_drawing";
import { sweepFigure } from "./sweep_figure";
import { isSweepAnswer, type SweepAnswer } from "./wire";

interface Swept {
  readonly sweep: SweepAnswer | null;
}

export class SweepChart extends FetchedDrawing<Swept> {
  protected isAnswer(value: unknown): value is Swept {
    return isSweepAnswer(value);
  }

  protected spoken({ sweep }: Swept): string {
    return sweep?.sentence ?? "Three places with a figure are needed.";
  }

  protected figure({ sweep }: Swept, theme: ChartTheme): Figure | null {
    return sweep === null ? null : sweepFigure(sweep, theme);
  }
}

/**
 * <campaign-trend src="/api/v1/benchmarks/campaigns/3/" label="Rate of each arm, round by round">
 *
 * How each arm of a campaign went. The same figures stand in a table of the page.
 */
import { armNames } from "./arm_names";
import type { Figure } from "./chart_figure";
import type { ChartTheme } from "./chart_theme";
import { FetchedDrawing } from "./fetched_drawing";
import { rounds, trendFigure } from "./trend_figure";
import { isTrendAnswer, type TrendAnswer } from "./wire";

export class CampaignTrend extends FetchedDrawing<TrendAnswer> {
  protected isAnswer(value: unknown): value is TrendAnswer {
    return isTrendAnswer(value);
  }

  protected spoken(trend: TrendAnswer): string {
    return trend.sentence || "No round is over yet.";
  }

  protected override above(trend: TrendAnswer): HTMLElement[] {
    return [armNames(trend.arms.map((label, arm) => ({ label, is_baseline: arm === trend.baseline })))];
  }

  protected figure(trend: TrendAnswer, theme: ChartTheme): Figure | null {
    return trend.arms.some((_, arm) => rounds(trend, arm).length > 0) ? trendFigure(trend, theme) : null;
  }
}

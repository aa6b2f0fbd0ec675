/** Everything that every page needs. Charts load Plotly by themselves, where there is one. */
import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/components.css";

import { BreakEvenChart } from "./break_even_chart";
import { CacheWritesChart } from "./cache_writes_chart";
import { CampaignTrend } from "./campaign_trend";
import { CopyLink } from "./copy_link";
import { CourseOverlay } from "./course_overlay";
import { watchDialogs } from "./dialogs";
import { watchFolds } from "./folds";
import { setUpHtmx } from "./htmx_setup";
import { watchKeyboard } from "./keyboard";
import { followTopics } from "./live";
import { LiveStatus } from "./live_status";
import { setUpPalette } from "./palette";
import { LogTail } from "./log_tail";
import { RelativeTime } from "./relative_time";
import { RunChart } from "./run_chart";
import { SweepChart } from "./sweep_chart";
import { watchFilters } from "./table_filter";
import { showCurrentTab } from "./tabs";
import { watchTheme } from "./theme";
import { TimeSeriesChart } from "./time_series_chart";
import { WeightEditor } from "./weight_editor";

setUpHtmx();
showCurrentTab();
watchTheme();
watchDialogs();
setUpPalette();
watchKeyboard();
watchFilters();
watchFolds();
// The connection first: <live-status> asks for it as soon as it is defined.
followTopics();
customElements.define("live-status", LiveStatus);
customElements.define("time-series-chart", TimeSeriesChart);
customElements.define("run-chart", RunChart);
customElements.define("sweep-chart", SweepChart);
customElements.define("course-overlay", CourseOverlay);
customElements.define("campaign-trend", CampaignTrend);
customElements.define("break-even-chart", BreakEvenChart);
customElements.define("cache-writes-chart", CacheWritesChart);
customElements.define("weight-editor", WeightEditor);
customElements.define("relative-time", RelativeTime);
customElements.define("copy-link", CopyLink);
customElements.define("log-tail", LogTail);

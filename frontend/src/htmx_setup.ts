/** How htmx behaves here: failures keep what is on the screen and say so, and elements keep what they drew. */
import htmx from "htmx.org";

/** Refused or failed: the answer is a page of its own and does not belong into a fragment. 422 and 409 come with what to show. */
const KEEPS_SCREEN = [204, 304, 401, 403, 404, 429, 500, 502, 503, 504];
/** Elements of ours that write their own content; a morphing swap updates their attributes only. */
const OWN_CONTENT = "time-series-chart, run-chart, campaign-trend, break-even-chart, cache-writes-chart, warm-up-chart, live-status, relative-time, [hx-morph-skip-children]";

interface HtmxEventDetail {
  readonly ctx?: {
    readonly target?: Element | string;
    readonly request?: { readonly action?: string };
    readonly response?: { readonly status?: number };
  };
}

export function setUpHtmx(): void {
  htmx.config.noSwap = KEEPS_SCREEN;
  // Going back loads the page anew: a body that was swapped in would lack what main.ts set up.
  htmx.config.history = "reload";
  htmx.config.morphSkipChildren = OWN_CONTENT;
  // "open": what somebody has unfolded stays so when fresh figures come.
  htmx.config.morphIgnore = ["data-htmx-powered", "data-cur", "data-unfolded", "open"];
  document.addEventListener("htmx:response:error", (event) => showProblem(event, statusOf(event)));
  document.addEventListener("htmx:error", (event) => showProblem(event, null));
  // Fired before htmx:response:error, so a failure puts its words back at once.
  document.addEventListener("htmx:after:request", clearProblem);
}

function detailOf(event: Event): HtmxEventDetail {
  return ((event as CustomEvent<HtmxEventDetail>).detail ?? {}) as HtmxEventDetail;
}

function statusOf(event: Event): number | null {
  return detailOf(event).ctx?.response?.status ?? null;
}

function showProblem(event: Event, status: number | null): void {
  const action = detailOf(event).ctx?.request?.action;
  // 422 is the form again with its errors, 409 says what stands in the way.
  if (status === 422 || status === 409 || action === undefined || !(event.target instanceof HTMLElement)) return;
  const path = new URL(action, location.href).pathname;
  event.target.dataset["problem"] =
    status === null
      ? "No answer from Lifeguard; what stands here is as it was."
      : `Lifeguard could not answer (${status}); what stands here is as it was.`;
  console.error(path, status);
}

function clearProblem(event: Event): void {
  if (event.target instanceof HTMLElement) delete event.target.dataset["problem"];
}

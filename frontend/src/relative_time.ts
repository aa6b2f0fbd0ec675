/**
 * <relative-time datetime="2026-03-17T14:25:02Z">14:25:02 UTC</relative-time>: "7 min ago" or "in 5 min", absolute in the title.
 * With the attribute `absolute` the clock time stands behind it: "7 min ago, 14:25:02 UTC".
 */
import { everySecond } from "./ticker";
import { agoText, clockUtc, instantUtc } from "./values";

export class RelativeTime extends HTMLElement {
  static readonly observedAttributes = ["datetime"];
  private stop: (() => void) | null = null;

  connectedCallback(): void {
    this.stop = everySecond(() => this.show());
    this.show();
  }

  disconnectedCallback(): void {
    this.stop?.();
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.show();
  }

  private show(): void {
    const tS = Date.parse(this.getAttribute("datetime") ?? "") / 1000;
    // Without a readable instant the server's own words stay.
    if (!Number.isFinite(tS)) return;
    const ago = agoText(Date.now() / 1000 - tS);
    const text = this.hasAttribute("absolute") ? `${ago}, ${clockUtc(tS)} UTC` : ago;
    if (this.textContent !== text) this.textContent = text;
    this.title = instantUtc(tS);
  }
}

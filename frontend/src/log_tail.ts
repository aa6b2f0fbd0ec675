/**
 * <log-tail><pre>…</pre></log-tail>: the latest lines of a log. Whoever is at its end sees new lines come; whoever has
 * scrolled away from it keeps the lines that they read where they are, until these have left the tail.
 */
import { linesGone } from "./tail_lines";

const AT_END_PX = 4;

export class LogTail extends HTMLElement {
  private lines: readonly string[] = [];
  private heightPx = 0;
  private readonly changes = new MutationObserver(() => this.changed());

  connectedCallback(): void {
    this.changes.observe(this, { childList: true, characterData: true, subtree: true });
    this.changed();
  }

  disconnectedCallback(): void {
    this.changes.disconnect();
  }

  private changed(): void {
    const box = this.querySelector("pre");
    if (!box) return;
    const before = this.lines;
    // By the height that was scrolled in: an event of scrolling may come after the change.
    const wasAtEnd = this.heightPx - box.clientHeight - box.scrollTop < AT_END_PX;
    this.lines = (box.textContent ?? "").split("\n");
    this.heightPx = box.scrollHeight;
    if (wasAtEnd) box.scrollTop = this.heightPx;
    else box.scrollTop -= linesGone(before, this.lines) * Number.parseFloat(getComputedStyle(box).lineHeight);
  }
}

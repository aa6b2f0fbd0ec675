/**
 * <copy-link class="btn">Copy link</copy-link>, or around a <button>: copies the page's address, or the attribute `text`,
 * or the text of the element that `from` selects.
 */
const SHOWN_MS = 1400;

export class CopyLink extends HTMLElement {
  private listening = new AbortController();

  connectedCallback(): void {
    this.listening = new AbortController();
    const { signal } = this.listening;
    this.addEventListener("click", () => void this.copy(), { signal });
    if (this.querySelector("button") === null) this.actAsButton(signal);
  }

  disconnectedCallback(): void {
    this.listening.abort();
  }

  private actAsButton(signal: AbortSignal): void {
    this.tabIndex = 0;
    this.setAttribute("role", "button");
    this.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        void this.copy();
      },
      { signal },
    );
  }

  private text(): string {
    const from = this.getAttribute("from");
    const source = from === null ? null : document.querySelector(from);
    return source?.textContent?.trim() ?? this.getAttribute("text") ?? location.href;
  }

  private async copy(): Promise<void> {
    const button = this.querySelector("button") ?? this;
    if (button.dataset["copied"] !== undefined) return;
    const isCopied = await writeText(this.text());
    const label = [...button.childNodes].findLast((node) => node.nodeType === Node.TEXT_NODE);
    if (!label) return;
    const words = label.textContent;
    button.dataset["copied"] = "";
    label.textContent = isCopied ? "Copied" : "Copying is not allowed here";
    setTimeout(() => {
      label.textContent = words;
      delete button.dataset["copied"];
    }, SHOWN_MS);
  }
}

async function writeText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain http the clipboard API does not exist; the old command still does.
    return copyByCommand(text);
  }
}

function copyByCommand(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

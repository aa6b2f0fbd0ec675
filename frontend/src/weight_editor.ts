/**
 * <weight-editor>: the sliders and figures of the weights page, which always add up to 100 %.
 *
 * The server gives the markup: rows `.we` with data-node-id, data-current (weight in force), data-role, data-up ("1"/"0"),
 * a `input[type=range]`, an `input[name=weight_<node_id>]` and a lock `.lk`. Optional places that it fills:
 * [data-change] per row, [data-draft], [data-sum], [data-preview], [data-reads="<node_id>"], and buttons [data-preset] or
 * [data-weights] (JSON of raw weights). After each change the element sends `weights-changed`.
 */
import { plainNumber } from "./values";
import { changeText, move, percentText, presetWeights, tenthsOf, type WeightRow, WHOLE } from "./weights";

interface Row extends WeightRow {
  readonly element: HTMLElement;
  readonly slider: HTMLInputElement;
  readonly number: HTMLInputElement;
  readonly lock: HTMLButtonElement | null;
}

export class WeightEditor extends HTMLElement {
  private rows: readonly Row[] = [];
  private tenths: readonly number[] = [];
  /** Raw weights of a preset: sent as they are, so that an even split of three is 1, 1, 1 and not 333, 333, 334. */
  private exact: readonly number[] | null = null;
  private listening = new AbortController();

  connectedCallback(): void {
    this.rows = [...this.querySelectorAll<HTMLElement>(".we[data-node-id]")].flatMap(rowOf);
    this.tenths = tenthsOf(this.rows.map((row) => Number(row.number.value) || 0));
    if (this.rows.every((_, index) => this.tenths[index] === this.currentTenths()[index])) {
      this.exact = this.rows.map((row) => row.currentWeight);
    }
    this.listening = new AbortController();
    const { signal } = this.listening;
    this.rows.forEach((row, index) => {
      row.slider.addEventListener("input", () => this.drag(index, Number(row.slider.value)), { signal });
      row.number.addEventListener("change", () => this.drag(index, Number(row.number.value) || 0), { signal });
      row.lock?.addEventListener("click", () => toggleLock(row), { signal });
    });
    this.addEventListener("click", (event) => this.usePreset(event), { signal });
    this.form()?.addEventListener("formdata", (event) => this.sendExact(event), { signal });
    this.show();
  }

  disconnectedCallback(): void {
    this.listening.abort();
  }

  private form(): HTMLFormElement | null {
    return this.querySelector("form") ?? this.closest("form");
  }

  private currentTenths(): number[] {
    return tenthsOf(this.rows.map((row) => row.currentWeight));
  }

  private drag(index: number, percent: number): void {
    this.exact = null;
    const locked = this.rows.map((row) => row.lock?.getAttribute("aria-pressed") === "true");
    this.tenths = move(this.tenths, locked, index, percent * 10);
    this.show();
    this.announce();
  }

  private usePreset(event: Event): void {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-preset],[data-weights]") : null;
    if (button === null) return;
    event.preventDefault();
    const weights = button.dataset["weights"] ? this.given(button.dataset["weights"]) : presetWeights(this.rows, button.dataset["preset"] ?? "");
    if (weights === null) return;
    this.rows.forEach((row) => row.lock?.setAttribute("aria-pressed", "false"));
    this.exact = weights;
    this.tenths = tenthsOf(weights);
    this.show();
    this.announce();
  }

  private given(json: string): number[] {
    const weights = JSON.parse(json) as Readonly<Record<string, number>>;
    return this.rows.map((row) => weights[String(row.nodeId)] ?? 0);
  }

  private sendExact(event: FormDataEvent): void {
    this.exact?.forEach((weight, index) => {
      const row = this.rows[index];
      if (row) event.formData.set(row.number.name, String(weight));
    });
  }

  private announce(): void {
    this.dispatchEvent(new CustomEvent("weights-changed", { bubbles: true }));
  }

  private show(): void {
    const current = this.currentTenths();
    this.rows.forEach((row, index) => showRow(row, this.tenths[index] ?? 0, current[index] ?? 0));
    this.fill("[data-draft]", this.tenths.map(percentText).join(" / "));
    this.fill("[data-sum]", `${plainNumber(this.tenths.reduce((sum, value) => sum + value, 0) / 10, 1)}\u00a0%`);
    this.showPreview();
    this.showReads();
  }

  private fill(selector: string, text: string): void {
    this.querySelectorAll(selector).forEach((element) => (element.textContent = text));
  }

  private showPreview(): void {
    const preview = this.querySelector("[data-preview]");
    if (preview === null) return;
    const segments = this.rows.map((row, index) => segmentOf(row, this.tenths[index] ?? 0));
    preview.replaceChildren(...segments.filter((segment) => segment !== null));
    preview.setAttribute("aria-label", `New: ${this.tenths.map((value) => `${percentText(value)} %`).join(", ")}`);
  }

  private showReads(): void {
    const readsPerS = Number(this.getAttribute("reads-per-s"));
    if (!this.hasAttribute("reads-per-s") || !Number.isFinite(readsPerS)) return;
    this.rows.forEach((row, index) => {
      const reads = (readsPerS * (this.tenths[index] ?? 0)) / WHOLE;
      this.fill(`[data-reads="${row.nodeId}"]`, plainNumber(reads, reads < 9.995 ? 2 : 0));
    });
  }
}

function rowOf(element: HTMLElement): Row[] {
  const slider = element.querySelector<HTMLInputElement>("input[type=range]");
  const number = element.querySelector<HTMLInputElement>("input[name]");
  const lock = element.querySelector<HTMLButtonElement>(".lk");
  if (slider === null || number === null) return [];
  const { nodeId, role, up, current } = element.dataset;
  return [{ element, slider, number, lock, nodeId: Number(nodeId), role: role ?? "", isUp: up !== "0", currentWeight: Number(current) || 0 }];
}

function toggleLock(row: Row): void {
  row.lock?.setAttribute("aria-pressed", String(row.lock.getAttribute("aria-pressed") !== "true"));
}

function showRow(row: Row, tenths: number, currentTenths: number): void {
  row.element.style.setProperty("--p", `${tenths / 10}%`);
  row.slider.value = String(tenths / 10);
  row.number.value = percentText(tenths);
  const change = row.element.querySelector("[data-change]");
  if (change) change.textContent = changeText(tenths - currentTenths);
}

function segmentOf(row: Row, tenths: number): HTMLElement | null {
  if (tenths === 0) return null;
  const segment = document.createElement("i");
  segment.style.setProperty("--c", `var(--node-${row.nodeId % 8})`);
  segment.style.setProperty("flex", `${tenths} 0 0`);
  return segment;
}

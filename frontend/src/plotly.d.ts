/** The two functions that we use of plotly.js-basic-dist-min, which brings no types. */
declare module "plotly.js-basic-dist-min" {
  export interface Plotly {
    react(
      element: HTMLElement,
      data: readonly object[],
      layout: object,
      config: object,
    ): Promise<HTMLElement>;
    purge(element: HTMLElement): void;
  }
  const plotly: Plotly;
  export default plotly;
}

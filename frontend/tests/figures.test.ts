import { describe, expect, test } from "vitest";

import { figureOf, type Picture } from "../src/chart_figure";
import { grouped } from "../src/chart_marks";
import { type ChartTheme, isDashed, tokenOf, withAlpha } from "../src/chart_theme";
import { matching, withoutRepeats } from "../src/palette";
import { seriesUrl } from "../src/series_request";
import { hasAllWords } from "../src/table_filter";
import type { Trace } from "../src/traces";
import { agoText, axisFigure, byteCount, figure } from "../src/values";

const THEME = new Proxy({} as ChartTheme, {
  get: (_, token: string) => (token.startsWith("node-") ? `rgb(0, 0, ${token.slice(5)})` : "rgb(9, 9, 9)"),
});

describe("figures", () => {
  test.each([
    [0.334, "share", "33.4 %"],
    [null, "share", "–"],
    [0.2, "s", "0.20 s"],
    [12.4, "s", "12.4 s"],
    [8.634, "reads/s", "8.63 reads/s"],
    [86.34, "reads/s", "86 reads/s"],
    [4120, "reads/s", "4,120 reads/s"],
    [98_304, "bytes", "96 KiB"],
  ])("%s in %s is written %s", (value, unit, text) => {
    expect(figure(value, unit).replaceAll("\u00a0", " ")).toBe(text);
  });

  test("bytes are counted in powers of 1024", () => {
    expect(byteCount(512)).toBe("512\u00a0B");
    expect(byteCount(5 * 1024 * 1024)).toBe("5.0\u00a0MiB");
  });

  test("an axis names short units only, long ones stand in the title", () => {
    expect(axisFigure(5, "s")).toBe("5\u00a0s");
    expect(axisFigure(2000, "reads/s")).toBe("2,000");
    expect(axisFigure(0.5, "share")).toBe("50\u00a0%");
    expect(axisFigure(500, "ms")).toBe("500\u00a0ms");
    expect(axisFigure(1000, "ms")).toBe("1\u00a0s");
    expect(axisFigure(2500, "ms")).toBe("2.5\u00a0s");
    expect(axisFigure(512 * 1024 * 1024, "bytes")).toBe("512\u00a0MiB");
    expect(axisFigure(99_000, "reads/s")).toBe("99,000");
    expect(axisFigure(250_000, "reads/s")).toBe("250K");
  });

  test.each([
    [2.4, "2 s ago"],
    [65, "1 min ago"],
    [7300, "2 h ago"],
    [90_000, "1 day ago"],
    [172_800, "2 days ago"],
    [-5, "0 s ago"],
    [-10, "in 10 s"],
    [-59.4, "in 59 s"],
    [-59.6, "in 1 min"],
    [-299.7, "in 5 min"],
    [-3599, "in 1 h"],
    [-7300, "in 2 h"],
    [-86_399, "in 1 day"],
    [-172_800, "in 2 days"],
  ])("%f seconds are %s", (seconds, text) => {
    expect(agoText(seconds).replaceAll("\u00a0", " ")).toBe(text);
  });

  test.each([
    ["rgb(10, 20, 30)", "rgba(10,20,30,0.5)"],
    ["rgba(10, 20, 30, 0.2)", "rgba(10,20,30,0.5)"],
    ["color(srgb 1 0.5 0)", "rgba(255,128,0,0.5)"],
  ])("%s at half opacity is %s", (colour, half) => {
    expect(withAlpha(colour, 0.5)).toBe(half);
  });
});

describe("a drawing", () => {
  const trace = (nodeId: number, points: Trace["points"]): Trace => ({
    key: `${nodeId}@`,
    nodeId,
    instance: null,
    name: `pg${nodeId + 1}`,
    points,
  });
  const picture: Picture = {
    kind: "line",
    traces: [trace(1, [[100, 1], [102, 2], [200, 3]])],
    wanted: [],
    compared: [],
    keepsPeaks: false,
    unit: "s",
    startS: 100,
    endS: 200,
    axisEnd: 5,
    gapS: 35,
    events: [
      { letter: "A", t: 150, text: "pg2 detached" },
      { letter: "B", t: 900, text: "outside" },
    ],
    limit: { value: 10, text: "pgpool stops reading here" },
  };

  test("a line breaks where samples are missing", () => {
    const { data } = figureOf(picture, THEME);

    expect(data[0]).toMatchObject({ y: [1, 2, null, 3], connectgaps: false, line: { color: "rgb(0, 0, 1)" } });
  });

  test("a node keeps its colour on every chart; past the eighth it comes again, dashed", () => {
    expect([0, 7, 8].map((nodeId) => tokenOf({ nodeId }, 0))).toEqual(["node-0", "node-7", "node-0"]);
    expect([0, 7, 8].map((nodeId) => isDashed({ nodeId }, 0))).toEqual([false, false, true]);
  });

  test("events in the window get their letter, others none", () => {
    const { layout } = figureOf(picture, THEME);

    expect(layout).toMatchObject({ annotations: [{ text: "<b>A</b>", x: 150_000 }] });
  });

  test("a letter at the edge stays inside the chart", () => {
    const atEdge = { ...picture, events: [{ letter: "A", t: 100, text: "" }] };

    // half of 5 % of 100 s from the left edge at 100 s
    expect(figureOf(atEdge, THEME).layout).toMatchObject({ annotations: [{ x: 102_500 }] });
  });

  test("letters that would cover one another share a box, and no more than six boxes are drawn", () => {
    const event = (letter: string, t: number): { letter: string; t: number; text: string } => ({ letter, t, text: "" });
    const near = [event("D", 104), event("C", 104), event("B", 101), event("A", 50)];
    const many = [..."ABCDEFGH"].map((letter, index) => event(letter, index * 100));

    expect(grouped(near, 100).map((group) => group.label)).toEqual(["A", "B–D"]);
    expect(grouped(many, 1000).length).toBe(6);
    expect(grouped(many, 1000).flatMap((group) => group.events).map((one) => one.letter).join("")).toBe("ABCDEFGH");
    expect(grouped([], 100)).toEqual([]);
  });

  test("what was there a week earlier is drawn dashed below the line", () => {
    const compared = [{ ...trace(1, [[100, 4]]), nodeId: null }];
    const { data } = figureOf({ ...picture, compared }, THEME);

    expect(data).toMatchObject([{ y: [4], line: { dash: "5px,3px" } }, { line: { dash: "solid" } }]);
  });

  test("a limit is drawn once the axis reaches it", () => {
    expect(figureOf({ ...picture, axisEnd: 10 }, THEME).layout).toMatchObject({
      annotations: [{ text: "pgpool stops reading here", y: 10 }, {}],
    });
  });

  test("time without data is marked as such", () => {
    const { layout } = figureOf({ ...picture, startS: 200, endS: 300, events: [] }, THEME);

    expect(layout).toMatchObject({ annotations: [{ text: "no data" }] });
  });

  test("shares are stacked, one area per node, with the wanted boundary and its tolerance", () => {
    const { data } = figureOf(
      {
        ...picture,
        kind: "share",
        unit: "share",
        axisEnd: 1,
        traces: [trace(1, [[100, 0.25], [102, 0.5]]), trace(2, [[100, 0.75], [102, 0.5]])],
        wanted: [trace(1, [[100, 0.5]]), trace(2, [[100, 0.5]])],
      },
      THEME,
    );

    expect(data[0]).toMatchObject({ fill: "toself", y: [0.25, 0.5, 0, 0, null] });
    expect(data[1]).toMatchObject({ fill: "toself", y: [1, 1, 0.5, 0.25, null] });
    expect(data.slice(3, 6)).toMatchObject([{ y: [0.47] }, { y: [0.53], fill: "tonexty" }, { y: [0.5] }]);
  });
});

test("a series is asked for from an instant on, with as many points as a chart can show", () => {
  const url = new URL(seriesUrl("/api/v1/clusters/orders/series/", "http://127.0.0.1:8000/o/x/", "probe_ms", 1_700_000_000));

  expect(url.pathname).toBe("/api/v1/clusters/orders/series/");
  expect(Object.fromEntries(url.searchParams)).toEqual({ metric: "probe_ms", start: "2023-11-14T22:13:20.000Z", points: "360" });
});

test("an earlier stretch is asked for with its end", () => {
  const url = new URL(seriesUrl("/api/v1/x/", "http://127.0.0.1:8000/", "probe_ms", 1_700_000_000, 1_700_000_060));

  expect(url.searchParams.get("end")).toBe("2023-11-14T22:14:20.000Z");
});

test("a filter and the palette want every word", () => {
  const places = [
    { title: "orders-prod", url: "/a", note: "cluster, healthy" },
    { title: "Fleet", url: "/b", note: "" },
  ];

  expect(matching(places, "healthy ORD").map((place) => place.url)).toEqual(["/a"]);
  expect(matching(places, "").length).toBe(2);
  expect(withoutRepeats([...places, { title: "Overview", url: "http://x/a", note: "" }], "http://x/").map((place) => place.title)).toEqual(["orders-prod", "Fleet"]);
  expect(hasAllWords("orders-prod us-east-1", "us ord")).toBe(true);
  expect(hasAllWords("orders-prod us-east-1", "us ledger")).toBe(false);
});

import { afterEach, expect, test, vi } from "vitest";
import { fetchSeries } from "../src/series_request";

afterEach(() => vi.unstubAllGlobals());

function answering(body: string, contentType: string, status: number): void {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, { status, headers: { "Content-Type": contentType } })));
}

const url = "https://lifeguard.example/api/v1/clusters/orders/series/?metric=probe_ms";
const asked = (): Promise<unknown> => fetchSeries(url, new AbortController().signal);

test("a refusal says what the server says is wrong", async () => {
  answering('{"status": 503, "detail": "ask for a shorter range"}', "application/problem+json", 503);

  await expect(asked()).rejects.toThrow("No answer from /api/v1/clusters/orders/series/ (503): ask for a shorter range");
});

test.each([
  ["<h1>Bad gateway</h1>", "text/html", 502],
  ["{", "application/problem+json", 502],
  ['{"detail": 7}', "application/problem+json", 502],
])("a refusal without words is told by its number", async (body, contentType, status) => {
  answering(body, contentType, status);

  await expect(asked()).rejects.toThrow("No answer from /api/v1/clusters/orders/series/ (502).");
});

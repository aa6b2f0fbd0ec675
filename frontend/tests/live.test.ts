import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { LiveConnection, type LiveSocket } from "../src/live";
import { backoffS, liveState, SequenceWatch } from "../src/live_state";

describe("the state of a page", () => {
  const fine = { isOnline: true, isOpen: true, silentS: 1, dataAgeS: 2, hasHeard: true };

  test.each([
    [fine, "live"],
    [{ ...fine, dataAgeS: null }, "live"],
    [{ ...fine, silentS: 10.5 }, "reconnecting"],
    [{ ...fine, isOpen: false }, "reconnecting"],
    [{ ...fine, isOpen: false, hasHeard: false }, "connecting"],
    [{ ...fine, dataAgeS: 15.5 }, "stale"],
    [{ ...fine, isOnline: false, dataAgeS: 31 }, "offline"],
  ])("%j is %s", (evidence, state) => {
    expect(liveState(evidence)).toBe(state);
  });

  test("attempts wait longer each time and never longer than 19 s", () => {
    expect([0, 1, 2, 3].map((attempt) => backoffS(attempt, 0.5))).toEqual([1, 2, 4, 8]);
    expect(backoffS(40, 1)).toBeLessThan(19);
  });
});

describe("sequence numbers", () => {
  test("a tick that was left out is a gap, and so is another epoch", () => {
    const watch = new SequenceWatch();

    expect(watch.isGap("cluster.7", [3, 10])).toBe(false);
    expect(watch.isGap("cluster.7", [3, 11])).toBe(false);
    expect(watch.isGap("cluster.8", [3, 50])).toBe(false);
    expect(watch.isGap("cluster.7", [3, 13])).toBe(true);
    expect(watch.isGap("cluster.7", [4, 1])).toBe(true);
    expect(watch.isGap("cluster.7", [4, 2])).toBe(false);
  });
});

class FakeSocket implements LiveSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;
  onclose: ((event: { readonly code: number }) => void) | null = null;
  isClosed = false;

  close(code = 1006): void {
    this.isClosed = true;
    this.onclose?.({ code });
  }

  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

const CAUGHT_UP = ["rollout", "run", "comparison", "event", "fleet-changed", "writes"];
const heartbeat = { topic: "live", fact: "heartbeat" };

describe("the connection", () => {
  let sockets: FakeSocket[];
  let events: string[];
  let connection: LiveConnection;

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    sockets = [];
    events = [];
    connection = new LiveConnection({
      openSocket: () => {
        const socket = new FakeSocket();
        sockets.push(socket);
        return socket;
      },
      dispatch: (name) => events.push(name),
      isOnline: () => true,
      isHidden: () => false,
      random: () => 0.5,
    });
    connection.start();
    sockets[0]?.onopen?.();
    sockets[0]?.say(heartbeat);
    events = events.filter((name) => !CAUGHT_UP.includes(name));
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const sampled = { topic: "cluster.7", fact: "sampled" };
  const points = (tick: number) => ({ topic: "cluster.7", seq: [1, tick], points: {} });

  test("facts that come in a burst are fired at once and once more 2 s later", () => {
    for (let count = 0; count < 5; count += 1) sockets[0]?.say(sampled);
    expect(events).toEqual(["sampled"]);

    vi.advanceTimersByTime(2000);
    expect(events).toEqual(["sampled", "sampled"]);

    vi.advanceTimersByTime(2000);
    expect(events).toEqual(["sampled", "sampled"]);
  });

  test("points are passed on, and a gap in them is named first", () => {
    sockets[0]?.say(points(1));
    sockets[0]?.say(points(2));
    sockets[0]?.say(points(4));

    expect(events).toEqual(["series-points", "series-points", "series-gap", "series-points"]);
  });

  test("a silent socket is given up after 10 s, and another is opened", () => {
    sockets[0]?.say(sampled);
    vi.advanceTimersByTime(11_000);
    expect(sockets[0]?.isClosed).toBe(true);
    expect(connection.state()).toBe("reconnecting");

    vi.advanceTimersByTime(1500);
    expect(sockets).toHaveLength(2);
  });

  test("what was said while nobody listened is asked for again", () => {
    sockets[0]?.say(points(1));
    sockets[0]?.close();
    vi.advanceTimersByTime(1500);
    sockets[1]?.onopen?.();

    expect(events).toEqual(["series-points", "series-gap"]);
    expect(connection.state()).toBe("live");
  });

  test("what happened before anybody listened is asked for once, as soon as the server is heard", () => {
    sockets[0]?.close();
    vi.advanceTimersByTime(1500);
    sockets[1]?.onopen?.();
    expect(events.filter((name) => CAUGHT_UP.includes(name))).toEqual([]);

    vi.advanceTimersByTime(2000);
    sockets[1]?.say(heartbeat);
    sockets[1]?.say(heartbeat);

    expect(events.filter((name) => CAUGHT_UP.includes(name))).toEqual(CAUGHT_UP);
  });

  test("without facts the page asks every 10 s, even when the server is heard", () => {
    for (let second = 0; second < 21; second += 1) {
      vi.advanceTimersByTime(1000);
      sockets[0]?.say({ fact: "heartbeat" });
    }

    expect(events.filter((name) => name === "sampled")).toHaveLength(2);
    expect(sockets).toHaveLength(1);
    expect(connection.state()).toBe("live");
  });

  test("data that stops coming makes the page stale, although the server is heard", () => {
    sockets[0]?.say(points(1));
    for (let second = 0; second < 32; second += 1) {
      vi.advanceTimersByTime(1000);
      sockets[0]?.say({ fact: "heartbeat" });
    }

    expect(connection.state()).toBe("stale");
    expect(connection.dataAgeS()).toBe(32);
  });

  test("the server's figure for the age of the data counts until something newer is heard", () => {
    connection.dataWasOld(420);
    expect(connection.state()).toBe("stale");

    sockets[0]?.say(points(1));
    expect(connection.state()).toBe("live");
  });

  test("messages dropped by the server are a gap", () => {
    sockets[0]?.say({ topic: "cluster.7", fact: "gap" });

    expect(events).toEqual(["series-gap"]);
  });

  test("a page that was refused does not knock every second", () => {
    sockets[0]?.close(4401);
    vi.advanceTimersByTime(10_000);
    expect(sockets).toHaveLength(1);

    vi.advanceTimersByTime(6_000);
    expect(sockets).toHaveLength(2);
  });

  test("what is not a message of ours is ignored", () => {
    sockets[0]?.onmessage?.({ data: "not json" });
    sockets[0]?.say({ points: 1 });
    sockets[0]?.say({ topic: "cluster.7", points: {} });
    sockets[0]?.say({ topic: "cluster.7" });

    expect(events).toEqual([]);
  });
});

"""What is said of a run, in each of its states."""

from dataclasses import replace

import pytest

from apps.benchmarks.domain import run_words
from apps.benchmarks.domain.run_words import RunFacts, sentence

QUEUED = RunFacts(state="queued", cluster="Orders", topology="pgpool:pgpool-1", clients=20, duration_s=60)
RUNNING = replace(QUEUED, state="running", phase="measures")
DONE = replace(QUEUED, state="done", tps=1234.5, p50_ms=1.2, p99_ms=9.81)
RATE = "1,234 tps through pgpool-1 with"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (QUEUED, "Waits for a worker of its queue: it is next."),
        (replace(QUEUED, runs_before=1), "Waits behind 1 run of Orders."),
        (replace(QUEUED, runs_before=3), "Waits behind 3 runs of Orders."),
        (replace(QUEUED, phase="waits: Rollout 3 is running.", runs_before=1), "Waits: Rollout 3 is running."),
        (replace(QUEUED, phase="attempt 1 ended; it is begun anew"), "Waits: attempt 1 ended; it is begun anew."),
        (replace(QUEUED, state="preparing", phase="warms up"), "Prepares: warms up. Nothing is measured yet."),
        (RUNNING, "Measures for 1 min; its first second is not over."),
        (replace(RUNNING, tps_so_far=88.456, measured_s=34), "88.46 tps so far: 34 s of 1 min are measured."),
        (replace(RUNNING, is_stop_requested=True), "It is being stopped; what was measured is kept."),
        (DONE, f"{RATE} 20 clients: half of the transactions took at most 1.20 ms, one in 100 at least 9.81 ms."),
        (
            replace(DONE, p50_ms=None, clients=1, is_partial=True),
            f"{RATE} 1 client. Some of its clients gave up on the way, so it counts as partial.",
        ),
        (
            replace(DONE, counts="messages", unit="messages/s"),
            (
                "1,234 messages/s through pgpool-1 with 20 clients: half of the messages took at most 1.20 ms, "
                "one in 100 at least 9.81 ms."
            ),
        ),
        (replace(DONE, tps=None), "It ended, and no transaction did: there is no rate."),
        (replace(QUEUED, state="failed"), "It failed before anything was measured."),
        (
            replace(QUEUED, state="stopped", tps_so_far=100.0, measured_s=12),
            "It was stopped after 12 s of 1 min: 100 tps until then, which is no result of the whole.",
        ),
    ],
)
def test_a_run_in_words(run: RunFacts, said: str) -> None:
    assert sentence(run).replace("\u00a0", " ") == said


@pytest.mark.parametrize(
    ("tps", "words"), [(0.5, "0.50 tps"), (99.994, "99.99 tps"), (99.996, "100 tps"), (52578.4, "52,578 tps")]
)
def test_a_rate_above_100_has_no_decimals(tps: float, words: str) -> None:
    assert run_words.rate_words(tps).replace("\u00a0", " ") == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 s"), (45, "45 s"), (60, "1 min"), (630, "10 min 30 s"), (7205, "2 h 5 s")]
)
def test_a_duration_in_words(count: float, words: str) -> None:
    assert run_words.seconds(count).replace("\u00a0", " ") == words


@pytest.mark.parametrize(("ms", "words"), [(0.8432, "0.84 ms"), (12.345, "12.3 ms"), (8364.56, "8,365 ms")])
def test_a_latency_in_words(ms: float, words: str) -> None:
    assert run_words.ms_words(ms).replace("\u00a0", " ") == words


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("standby:2", "on standby 2"),
        ("pgpools", "through all pgpools"),
        ("pgpools:2", "through 2 pgpools"),
        ("endpoint:bouncer-1", "through bouncer-1"),
        ("shards:2", "on shards:2"),
    ],
)
def test_where_the_load_goes(key: str, words: str) -> None:
    assert run_words.topology_words(key) == words

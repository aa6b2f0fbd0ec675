"""What the bench computes from what it measured."""

import os
import subprocess
import sys

import pytest

from apps.benchmarks.domain.topologies import COMMIT_LEVELS
from deploy.bench import cpu_time, durability, overhead, rollouts
from deploy.bench.intervals import interval
from deploy.bench.overhead import Turn
from deploy.bench.subject import CannotMeasure


def test_the_script_sets_weights_where_they_stand() -> None:
    text = "port = 1\nbackend_weight0 = 0   # pg1\nbackend_weight1 = 500\nbackend_weight10 = 7\n"

    changed = rollouts.with_weights(text, {0: 5, 1: 300})

    assert changed == "port = 1\nbackend_weight0 = 5   # pg1\nbackend_weight1 = 300\nbackend_weight10 = 7\n"


def test_the_interval_is_students() -> None:
    middle, margin = interval([0.99, 1.00, 1.01])

    # mean 1.00, standard deviation 0.01, t(0.975, 2) = 4.303: 4.303 * 0.01 / sqrt(3)
    assert middle == pytest.approx(1.0)
    assert margin == pytest.approx(0.02484, abs=1e-5)


@pytest.mark.parametrize(
    ("lost", "noise", "taken", "said"),
    [
        (0.1, 0.2, 9.0, "met"),
        (2.0, 1.0, 0.0, "NOT MET"),
        (0.4, 1.5, 0.3, "met by CPU time; tps cannot tell, this machine's noise is 1.50 %"),
        (0.4, 1.5, 0.6, "NOT MET by CPU time; tps cannot tell, this machine's noise is 1.50 %"),
    ],
)
def test_a_cost_within_the_noise_is_not_called_met_by_tps(lost: float, noise: float, taken: float, said: str) -> None:
    assert overhead.judgement(lost, noise, taken) == said


def test_a_ratio_is_of_the_seconds_that_lie_within_the_turns() -> None:
    watched, alone = Turn(is_watched=True, begins=10.0, ends=12.0), Turn(is_watched=False, begins=14.0, ends=16.0)
    told = [(10.0, 1.0), (11.0, 90.0), (12.0, 110.0), (13.0, 1.0), (14.5, 200.0), (17.0, 1.0)]

    assert overhead.ratio(told, watched, alone) == overhead.ratio(told, alone, watched) == pytest.approx(0.5)
    with pytest.raises(CannotMeasure, match="no progress"):
        overhead.ratio(told[:3], watched, alone)


def test_what_durability_costs_is_told_for_each_mode_and_level() -> None:
    steady = [1.0, 1.01, 0.99, 1.0, 1.005, 0.995]

    def values(mode: str, level: str) -> dict[str, list[float]]:
        slower = 1 + COMMIT_LEVELS.index(level) * (mode == durability.SYNCHRONOUS)
        return {"p50": [2 * slower * one for one in steady], "p99": [8 * slower * one for one in steady]}

    found = {(mode, level): values(mode, level) for mode in durability.MODES for level in COMMIT_LEVELS}
    told = list(durability.lines(found))

    assert [line for line in told if not line.startswith("    ")][:3] == [f"  {mode}" for mode in durability.MODES]
    # Of the levels off, local, … on each is one time slower: on is four times off, and twice local.
    [on] = [line for line in told[-6:] if line.startswith("    on ")]
    assert "p50 8.00 ms (7.9" in on
    assert "against local: p50 +4.00 ms (+100" in on
    assert told[-1].startswith("  1 synchronous, 1 potential against asynchronous, both at on: p50 +6.00 ms (+300 %")


def test_the_cpu_time_of_ended_children_counts() -> None:
    before = cpu_time.cpu_s(os.getpid())
    subprocess.run([sys.executable, "-c", "while __import__('time').process_time() < 0.3: pass"], check=True)

    assert cpu_time.cpu_s(os.getpid()) - before >= 0.25
    assert cpu_time.cpu_s(2**22 + 1) == 0

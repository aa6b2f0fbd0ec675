"""What the bench computes from what it measured."""

import pytest

from deploy.bench import overhead, rollouts


def test_the_script_sets_weights_where_they_stand() -> None:
    text = "port = 1\nbackend_weight0 = 0   # pg1\nbackend_weight1 = 500\nbackend_weight10 = 7\n"

    changed = rollouts.with_weights(text, {0: 5, 1: 300})

    assert changed == "port = 1\nbackend_weight0 = 5   # pg1\nbackend_weight1 = 300\nbackend_weight10 = 7\n"


def test_the_interval_is_students() -> None:
    middle, margin = overhead.interval([0.99, 1.00, 1.01])

    # mean 1.00, standard deviation 0.01, t(0.975, 2) = 4.303: 4.303 * 0.01 / sqrt(3)
    assert middle == pytest.approx(1.0)
    assert margin == pytest.approx(0.02484, abs=1e-5)


@pytest.mark.parametrize(
    ("lost", "noise", "said"),
    [(0.1, 0.2, "met"), (2.0, 1.0, "NOT MET"), (0.4, 1.5, "not to be told apart: this machine's noise is 1.50 %")],
)
def test_a_cost_within_the_noise_is_not_called_met(lost: float, noise: float, said: str) -> None:
    assert overhead.judgement(lost, noise) == said

"""Weights that prefer the backends of a pgpool's own zone."""

import pytest

from apps.clusters.domain.own_az import preferring_own_az

AZS = {0: "a", 1: "a", 2: "b"}


@pytest.mark.parametrize(
    ("az", "weights", "expected"),
    [
        ("a", {0: 0, 1: 1, 2: 1}, {0: 0, 1: 9, 2: 1}),  # the primary takes no reads, and goes on taking none
        ("b", {0: 0, 1: 1, 2: 1}, {0: 0, 1: 1, 2: 9}),
        ("a", {0: 1, 1: 1, 2: 1}, {0: 9, 1: 9, 2: 1}),
        ("c", {0: 0, 1: 1, 2: 3}, {0: 0, 1: 1, 2: 3}),  # nobody is there
        ("", {0: 0, 1: 1, 2: 3}, {0: 0, 1: 1, 2: 3}),
        ("b", {0: 1, 1: 0, 2: 0}, {0: 1, 1: 0, 2: 0}),  # whoever is there takes no reads
    ],
)
def test_who_reads_in_the_own_zone_is_preferred(az: str, weights: dict[int, float], expected: dict[int, float]) -> None:
    assert preferring_own_az(az, AZS, weights) == expected

"""Weights by role: integers of exactly the ratio that is wanted."""

from fractions import Fraction

import pytest

from apps.clusters.domain.role_weights import RoleWeightError, parse_primary_share, weights_by_role


@pytest.mark.parametrize(
    ("share", "standbys", "weights"),
    [
        (0, [1, 2], {0: 0, 1: 1, 2: 1}),
        (0.2, [1, 2], {0: 1, 1: 2, 2: 2}),  # 0.2 : 0.4 : 0.4
        (1, [1, 2], {0: 1, 1: 0, 2: 0}),
        (0.3333, [1, 2], {0: 6666, 1: 6667, 2: 6667}),  # 0.3333 : 0.33335 : 0.33335
        (0.5, [3], {0: 1, 3: 1}),
        (0, [], {0: 1}),  # nobody else could take them
        (0.1, [1, 2, 3], {0: 1, 1: 3, 2: 3, 3: 3}),  # 0.1 : 0.3 : 0.3 : 0.3
    ],
)
def test_the_primary_takes_its_share_and_the_standbys_the_rest_evenly(
    share: float, standbys: list[int], weights: dict[int, int]
) -> None:
    found = weights_by_role(primary=0, standbys=standbys, primary_share=parse_primary_share(share))

    assert found == weights


def test_roles_that_change_move_the_weights_with_them() -> None:
    before = weights_by_role(primary=0, standbys=[1, 2], primary_share=Fraction(0))
    after = weights_by_role(primary=1, standbys=[0, 2], primary_share=Fraction(0))

    assert (before, after) == ({0: 0, 1: 1, 2: 1}, {0: 1, 1: 0, 2: 1})


@pytest.mark.parametrize(
    "raw",
    [None, True, "0.2", -0.1, 1.1, 20, float("nan"), float("inf"), 0.12345, [], pytest.param(10**5000, id="huge")],
)
def test_what_is_no_share_is_refused_by_name_and_value(raw: object) -> None:
    with pytest.raises(RoleWeightError, match=r"^primary_share: .{1,80} is not a share from 0 to 1"):
        parse_primary_share(raw)

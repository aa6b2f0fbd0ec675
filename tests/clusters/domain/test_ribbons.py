"""The geometry of the topology strip."""

import re

import pytest

from apps.clusters.domain.ribbons import ROW_GAP, ROW_HEIGHT, Flow, cross_az_share, height, strip


def flow(source: int, target: int, reads_per_s: float, is_same_az: bool | None = True) -> Flow:
    return Flow(source, target, target, reads_per_s, is_same_az, f"pgpool-{source} to pg{target}")


def ends(path: str) -> tuple[float, float, float]:
    """Where a ribbon leaves, where it arrives, and how wide it is there."""
    match = re.fullmatch(r"M0,(\S+) C45,\S+ 55,\S+ 100,(\S+) L100,(\S+) C55,\S+ 45,\S+ 0,\S+ Z", path)
    assert match is not None
    leaves, reaches, far = map(float, match.groups())
    return leaves, reaches, far - reaches


def test_a_strip_is_as_high_as_its_rows() -> None:
    assert height(3) == 3 * ROW_HEIGHT + 2 * ROW_GAP
    assert height(0) == ROW_HEIGHT


def test_ribbons_are_as_wide_as_their_reads() -> None:
    ribbons = strip([flow(0, 0, 100), flow(0, 1, 300)])

    widths = [ends(ribbon["path"])[2] for ribbon in ribbons]
    assert widths[1] == pytest.approx(3 * widths[0], abs=0.2)


def test_ribbons_of_one_row_lie_beside_each_other_around_its_middle() -> None:
    first, second = (ends(ribbon["path"]) for ribbon in strip([flow(0, 0, 100), flow(0, 1, 300)]))

    assert second[0] == pytest.approx(first[0] + first[2], abs=0.1)
    assert first[0] + (first[2] + second[2]) / 2 == pytest.approx(ROW_HEIGHT / 2, abs=0.2)


def test_no_ribbon_leaves_the_strip_even_when_all_reads_meet() -> None:
    ribbons = strip([flow(row, 1, 1000) for row in range(3)])

    for ribbon in ribbons:
        leaves, reaches, width = ends(ribbon["path"])
        assert min(leaves, reaches) >= 0
        assert max(leaves, reaches) + width <= height(3)


def test_nothing_is_drawn_without_reads() -> None:
    assert strip([]) == []
    assert strip([flow(0, 0, 0)]) == []
    assert len(strip([flow(0, 0, 1000), flow(0, 1, 0)])) == 1


def test_an_unknown_zone_does_not_count_as_the_same() -> None:
    assert [ribbon["is_same_az"] for ribbon in strip([flow(0, 0, 1, None), flow(0, 1, 1, is_same_az=True)])] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("flows", "share"),
    [
        ([flow(0, 0, 100), flow(0, 1, 300, is_same_az=False)], 0.75),
        ([flow(0, 0, 100), flow(0, 1, 300, None)], None),
        ([flow(0, 0, 100), flow(0, 1, 0, None)], 0.0),
        ([], None),
    ],
)
def test_the_share_across_zones_is_known_only_with_all_zones(flows: list[Flow], share: float | None) -> None:
    assert cross_az_share(flows) == share

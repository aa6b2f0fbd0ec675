"""Weights from what people send to the integers of pgpool.conf."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.clusters.domain import weights

KNOWN = (0, 1, 2)


def test_shares_sum_to_one() -> None:
    assert weights.shares({0: 0, 1: 1, 2: 3}) == {0: 0, 1: 0.25, 2: 0.75}  # 1 / (1 + 3)


def test_no_share_is_defined_when_all_weights_are_zero() -> None:
    with pytest.raises(weights.WeightError, match=r"^weights: all are 0, but at least one backend needs more$"):
        weights.shares({0: 0, 1: 0})


def test_weights_are_accepted_with_text_keys_as_json_has_them() -> None:
    assert weights.parse_weights({"2": 3, "0": 0, "1": 0.5}, KNOWN) == {0: 0.0, 1: 0.5, 2: 3.0}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"0": -1, "1": 1, "2": 1}, "weights.0"),
        ({"0": "1", "1": 1, "2": 1}, "weights.0"),
        ({"0": math.nan, "1": 1, "2": 1}, "weights.0"),
        ({"0": math.inf, "1": 1, "2": 1}, "weights.0"),
        ({"0": True, "1": 1, "2": 1}, "weights.0"),
        ({"0": None, "1": 1, "2": 1}, "weights.0"),
        ({"0": 100_000_001, "1": 1, "2": 1}, "weights.0"),
        ({"0": 10**400, "1": 1, "2": 1}, "weights.0"),
        ({"0": 0, "1": 0, "2": 0}, "weights"),
        ({"0": 1, "1": 1}, "weights.2"),
        ({"0": 1, "1": 1, "2": 1, "3": 1}, "weights.3"),
        ({"0": 1, "1": 1, "2": 1, "x": 1}, "weights"),
        ({"0": 1, "1": 1, "2": 1, "01": 1}, "weights"),
        ({"0": 1, 0: 1, "1": 1, "2": 1}, "weights.0"),
        ({True: 1, 0: 1, 2: 1}, "weights"),
        ([1, 1, 1], "weights"),
        (None, "weights"),
    ],
)
def test_a_bad_weight_is_refused_with_its_field(raw: object, field: str) -> None:
    with pytest.raises(weights.WeightError) as caught:
        weights.parse_weights(raw, KNOWN)

    assert caught.value.field == field
    assert len(str(caught.value)) < 200


def test_a_form_may_write_numbers_as_text() -> None:
    assert weights.parse_weight_texts({"0": "0", "1": " 1.5 ", "2": "3"}, KNOWN) == {0: 0.0, 1: 1.5, 2: 3.0}


@pytest.mark.parametrize("text", ["", "abc", "nan", "inf", "1e3", "1_000", "1,5", "-1", "٣"])
def test_text_that_is_no_plain_number_is_refused(text: str) -> None:
    with pytest.raises(weights.WeightError) as caught:
        weights.parse_weight_texts({"0": text, "1": "1", "2": "1"}, KNOWN)

    assert caught.value.field == "weights.0"


@pytest.mark.parametrize(
    ("given_weights", "integers"),
    [
        ({0: 0, 1: 1, 2: 3}, {0: 0, 1: 1, 2: 3}),
        ({0: 0, 1: 500, 2: 500}, {0: 0, 1: 500, 2: 500}),  # as given, not reduced
        ({0: 0, 1: 90_000_000, 2: 1}, {0: 0, 1: 90_000_000, 2: 1}),
        ({0: 0.2, 1: 0.3, 2: 0.5}, {0: 2, 1: 3, 2: 5}),
        ({0: 0, 1: 0.5, 2: 0.5}, {0: 0, 1: 1, 2: 1}),
        ({0: 0, 1: 33.3, 2: 66.7}, {0: 0, 1: 333, 2: 667}),
        ({0: 0, 1: 1 / 3, 2: 2 / 3}, {0: 0, 1: 1, 2: 2}),
        ({0: 1e-6, 1: 0.5}, {0: 1, 1: 1000}),  # never 0 while it is above 0
    ],
)
def test_weights_become_the_smallest_integers_of_their_ratio(
    given_weights: dict[int, float], integers: dict[int, int]
) -> None:
    assert weights.as_integers(given_weights) == integers


@given(st.dictionaries(st.integers(0, 9), st.floats(0.01, 100), min_size=1, max_size=6))
def test_integers_keep_every_share_within_a_thousandth(given_weights: dict[int, float]) -> None:
    integers = weights.as_integers(given_weights)

    wanted, got = weights.shares(given_weights), weights.shares(integers)
    assert all(integers[node_id] > 0 for node_id in given_weights)
    assert all(abs(wanted[node_id] - got[node_id]) < 0.001 + 0.001 * len(wanted) / 2 for node_id in wanted)


def test_a_share_that_rounding_would_make_another_one_is_refused() -> None:
    with pytest.raises(weights.WeightError) as caught:
        weights.as_written({0: 1e8, 1: 0.1})

    assert str(caught.value) == (
        "weights.1: 0.1 is not a weight that whole numbers up to 1000 can express beside the others: "
        "its share of 0.0000001 % would become 0.0999001 %. Give all weights as whole numbers"
    )


@pytest.mark.parametrize("wanted", [{0: 0.0, 1: 0.0006, 2: 0.9994}, {0: 1 / 3, 1: 2 / 3}, {0: 1e8, 1: 1.0}])
def test_what_is_written_keeps_every_share_to_a_twentieth_of_a_point(wanted: dict[int, float]) -> None:
    written = weights.shares(weights.as_written(wanted))

    assert all(abs(written[node_id] - share) <= 0.0005 for node_id, share in weights.shares(wanted).items())

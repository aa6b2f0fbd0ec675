"""Requests for weights that are refused: the field and the reason are told, and nothing is stored."""

import math
from typing import Any

import pytest

from apps.clusters.control.weight_change import BaseChanged, WeightsRefused
from apps.clusters.domain.weights import WeightError
from apps.clusters.models import PgpoolInstance, Rollout
from tests.clusters.rollout_scene import NEW_WEIGHTS, SECRET, Scene
from tests.clusters.wished_weights import assert_nothing_stored, finish

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        (None, "weights"),
        ([1, 2, 3], "weights"),
        ({}, "weights.0"),
        ({"0": 0, "1": 1}, "weights.2"),
        ({"0": 0, "1": 1, "2": 1, "3": 1}, "weights.3"),
        ({"0": 0, "1": -1, "2": 1}, "weights.1"),
        ({"0": 0, "1": "1", "2": 1}, "weights.1"),
        ({"0": 0, "1": True, "2": 1}, "weights.1"),
        ({"0": 0, "1": math.nan, "2": 1}, "weights.1"),
        ({"0": 0, "1": math.inf, "2": 1}, "weights.1"),
        ({"0": 0, "1": 1e9, "2": 1}, "weights.1"),
        ({"0": 0, "1": 0, "2": 0}, "weights"),
    ],
)
def test_bad_weights_are_refused_by_field_and_nothing_is_stored(pair: Scene, weights: object, field: str) -> None:
    with pytest.raises(WeightError) as refused:
        pair.request(weights)

    assert refused.value.field == field
    assert_nothing_stored()


@pytest.mark.parametrize(
    ("per_instance", "field"),
    [
        ([], "per_instance"),
        ({"pgpool-1": NEW_WEIGHTS}, "per_instance.pgpool-2"),
        ({"pgpool-1": NEW_WEIGHTS, "pgpool-2": NEW_WEIGHTS, "pgpool-9": NEW_WEIGHTS}, "per_instance.pgpool-9"),
        ({"pgpool-1": NEW_WEIGHTS, "pgpool-2": {"0": 0, "1": -1, "2": 1}}, "per_instance.pgpool-2.1"),
        ({"pgpool-1": NEW_WEIGHTS, "pgpool-2": {"0": 0, "1": 0, "2": 0}}, "per_instance.pgpool-2"),
    ],
)
def test_bad_weights_of_one_pgpool_name_it(pair: Scene, per_instance: object, field: str) -> None:
    with pytest.raises(WeightError) as refused:
        pair.request(None, per_instance=per_instance)

    assert refused.value.field == field
    assert_nothing_stored()


@pytest.mark.parametrize("wanted", [{"note": "x" * 501}, {"note": "a\0b"}, {"base": "newest"}])
def test_other_bad_fields_are_refused_too(pair: Scene, wanted: dict[str, str]) -> None:
    with pytest.raises(WeightError) as refused:
        pair.request(**wanted)

    assert refused.value.field in wanted
    assert_nothing_stored()


def test_a_cluster_with_an_observed_pgpool_is_refused_and_it_is_named(pair: Scene) -> None:
    PgpoolInstance.objects.filter(name="pgpool-2").update(
        delivery_kind="observe", delivery_path="", delivery_target=None
    )

    with pytest.raises(WeightsRefused, match=r"^pgpool-2: registered as observe only"):
        pair.request()

    assert_nothing_stored()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("include 'more.conf'\n", "includes another file"),
        ("backend_hostname0 = 'a'\n!!\n", "line 2"),
        ("backend_hostname0 = '127.0.0.1'\n", "names the backends 0, but its pgpool shows 0, 1, 2"),
    ],
)
def test_a_file_that_cannot_be_changed_is_refused_with_its_reason(pair: Scene, text: str, message: str) -> None:
    pair.confs[1].write_text(text)

    with pytest.raises(WeightsRefused, match=message) as refused:
        pair.request()

    assert str(refused.value).startswith("pgpool-2: ")
    assert_nothing_stored()
    assert pair.confs[1].read_text() == text


def test_a_file_outside_the_allowed_directories_is_refused(pair: Scene, settings: Any) -> None:
    settings.LOCAL_DELIVERY_DIRECTORIES = []

    with pytest.raises(WeightsRefused, match="no directory is allowed"):
        pair.request()

    assert_nothing_stored()


def test_a_link_moved_since_the_registration_is_refused(pair: Scene) -> None:
    registered, other = pair.confs
    registered.rename(registered.with_name("moved.conf"))
    registered.symlink_to(other)

    with pytest.raises(WeightsRefused, match=r"led to .* when it was registered"):
        pair.request()

    assert_nothing_stored()


def test_a_file_changed_by_hand_is_refused_with_the_difference(pair: Scene) -> None:
    finish(pair.request())
    conf = pair.confs[1]
    conf.write_text(conf.read_text().replace("delay_threshold = 1000", "delay_threshold = 5"))

    with pytest.raises(BaseChanged) as refused:
        pair.request({"0": 0, "1": 1, "2": 1})

    assert refused.value.differences == [
        {"instance": "pgpool-2", "name": "delay_threshold", "before": "1000", "after": "5"}
    ]
    assert Rollout.objects.count() == 1


def test_a_changed_password_is_told_without_showing_it(pair: Scene) -> None:
    finish(pair.request())
    pair.confs[0].write_text(pair.confs[0].read_text().replace(SECRET, "other-secret"))

    with pytest.raises(BaseChanged) as refused:
        pair.request()

    assert [each["name"] for each in refused.value.differences] == ["sr_check_password"]
    assert "secret" not in str([(each["before"], each["after"]) for each in refused.value.differences])


def test_a_changed_comment_counts_as_changed_too(pair: Scene) -> None:
    finish(pair.request())
    pair.confs[0].write_text(pair.confs[0].read_text() + "# a note\n")

    with pytest.raises(BaseChanged) as refused:
        pair.request()

    assert refused.value.differences[0]["name"] == "comments, spacing or order"

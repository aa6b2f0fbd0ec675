"""Whether two pgpools number their backends alike, and how they differ."""

from apps.clusters.domain.instance_numbering import differences, in_the_cluster

KNOWN = {0: ("db0", 5432), 1: ("db1", 5432), 2: ("db2", 5432)}


def test_the_same_backends_in_the_same_order_are_no_difference() -> None:
    assert not differences(KNOWN, KNOWN)
    assert not differences(KNOWN, KNOWN | {1: ("DB1.", 5432)})


def test_swapped_backends_are_named_with_their_number_in_the_cluster() -> None:
    assert differences(KNOWN, KNOWN | {1: ("db2", 5432), 2: ("db1", 5432)}) == [
        "backend 1 is db2:5432 here, which the cluster numbers 2",
        "backend 2 is db1:5432 here, which the cluster numbers 1",
    ]


def test_another_address_is_shown_beside_the_known_one() -> None:
    assert differences(KNOWN, KNOWN | {2: ("db2", 5433)}) == ["backend 2 is db2:5433 here, but db2:5432 in the cluster"]


def test_missing_and_further_backends_are_named() -> None:
    assert differences(KNOWN, {0: ("db0", 5432), 1: ("db1", 5432), 3: ("::1", 5432)}) == [
        "backend 2 (db2:5432) is missing here",
        "backend 3 is [::1]:5432 here, which the cluster does not have",
    ]


def test_servers_are_found_again_under_other_numbers() -> None:
    shown = {0: ("DB0.", 5432), 1: ("db2", 5432), 2: ("db9", 5432)}

    assert in_the_cluster(KNOWN, shown) == {0: 0, 1: 2}

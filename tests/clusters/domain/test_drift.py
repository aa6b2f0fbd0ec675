"""How a file and running values differ from what was verified, parameter by parameter."""

import pytest

from apps.clusters.domain import drift, drift_words
from apps.clusters.domain.conf_secrets import MASK
from apps.clusters.domain.drift import Difference, DriftKind, compare
from apps.clusters.domain.drift_words import StoredDifference, as_stored
from apps.clusters.domain.parameters import catalogue

V43 = catalogue.for_version("4.3.5")
Kind = DriftKind


def found(verified: str, file: str, **running: str) -> list[tuple[str, str | None, str | None, str | None, Kind]]:
    differences = compare(verified=verified, file=file, running=running, catalogue=V43)
    return [(each.parameter, each.verified, each.file, each.running, each.kind) for each in differences]


@pytest.mark.parametrize(
    ("file", "shown", "kind", "running"),
    [
        ("delay_threshold = 5\n", ["5B", "1000B", "5B"], Kind.MIXED, "5B / 1000B / 5B"),
        ("delay_threshold = 1000\n", ["1000B", "5B", "1000B"], Kind.MIXED, "1000B / 5B / 1000B"),
        # All of them alike: their answer goes before the one of the session that is kept.
        ("delay_threshold = 5\n", ["5B", "5B", "5B"], Kind.EDITED_LIVE, "5B"),
        ("", ["0", "1000B", "0"], Kind.MISSING, "0 / 1000B / 0"),
    ],
)
def test_what_several_sessions_show_goes_before_the_answer_of_one(
    file: str, shown: list[str], kind: Kind, running: str
) -> None:
    [only] = compare(
        verified="delay_threshold = 1000\n",
        file=file,
        running={"delay_threshold": "1000B"},
        catalogue=V43,
        shown={"delay_threshold": shown},
    )

    assert (only.kind, only.running, only.is_drift) == (kind, running, True)


@pytest.mark.parametrize(
    ("verified", "file", "running"),
    [
        ("delay_threshold = 1000\n", "delay_threshold = 1000\n", {"delay_threshold": "1000B"}),
        # Comments, spacing, order and duplicates of which the last one wins.
        ("max_pool = 4\nport = 1\n", "# by hand\nport=9\nport   1  # x\n\nmax_pool = '4'\n", {"max_pool": "4"}),
        # Another spelling: of a time, of a size, of a boolean, of a word, of a weight.
        ("authentication_timeout = 1min\n", "authentication_timeout = 60\n", {"authentication_timeout": "1min"}),
        ("delay_threshold = 1024\n", "delay_threshold = 1kB\n", {"delay_threshold": "1kB"}),
        ("log_connections = on\n", "log_connections = yes\n", {"log_connections": "on"}),
        ("log_standby_delay = 'none'\n", "log_standby_delay = NONE\n", {"log_standby_delay": "none"}),
        ("backend_weight1 = 1.0\n", "backend_weight1 = 1\n", {"backend_weight1": "1"}),
        # PGPOOL SHOW cuts a weight, and shows a file mode as a decimal figure.
        ("backend_weight1 = 0.25\n", "backend_weight1 = 0.25\n", {"backend_weight1": "0"}),
        ("log_file_mode = 0600\n", "log_file_mode = 0600\n", {"log_file_mode": "384"}),
        # Milliseconds: 2s is 2000.
        ("connect_timeout = 2s\n", "connect_timeout = 2000\n", {"connect_timeout": "2000"}),
        # What pgpool masks is not held against the file; what it does not show either.
        ("pool_passwd = 'pool_passwd'\n", "pool_passwd = 'pool_passwd'\n", {"pool_passwd": MASK}),
        ("sr_check_password = 'a'\n", "sr_check_password = 'a'\n", {"sr_check_password": MASK}),
        ("no_such_name = 1\n", "no_such_name = 1\n", {"max_pool": "4"}),
    ],
)
def test_what_means_the_same_is_no_difference(verified: str, file: str, running: dict[str, str]) -> None:
    assert found(verified, file, **running) == []


@pytest.mark.parametrize(
    ("verified", "file", "running", "expected"),
    [
        ("500", "900", "900", Kind.EDITED_LIVE),
        ("500", "900", "500", Kind.NOT_RELOADED),
        ("500", "900", "7", Kind.EDITED),
        ("500", "900", None, Kind.EDITED),
        ("500", "500", "900", Kind.NOT_IN_FORCE),
        (None, "900", "900", Kind.EDITED_LIVE),
        (None, "900", "500", Kind.EDITED),
        ("500", None, "500", Kind.MISSING),
        # is_same_value would cut both to 1
        ("1.5", "1", "1", Kind.EDITED_LIVE),
        # pgpool takes a text for 0
        ("500", "abc", "0", Kind.EDITED),
        ("500", "1.0e999", "500", Kind.NOT_RELOADED),
        ("500", "9" * 5000, "500", Kind.NOT_RELOADED),
    ],
)
def test_the_three_columns_of_a_weight_say_what_was_done(
    verified: str | None, file: str | None, running: str | None, expected: Kind
) -> None:
    def conf(value: str | None) -> str:
        return "max_pool = 4\n" + (f"backend_weight1 = {value}\n" if value is not None else "")

    shown = {} if running is None else {"backend_weight1": running}

    assert found(conf(verified), conf(file), **shown) == [("backend_weight1", verified, file, running, expected)]


@pytest.mark.parametrize(
    ("verified", "file", "running", "expected", "is_drift"),
    [
        # As verified, and only a restart brings it in: somebody knows.
        ("num_init_children = 64\n", "num_init_children = 64\n", "32", Kind.PENDING_RESTART, False),
        # Edited by hand, whatever it waits for.
        ("num_init_children = 32\n", "num_init_children = 64\n", "32", Kind.NOT_RELOADED, True),
    ],
)
def test_what_waits_for_a_restart_is_no_drift_unless_somebody_edited_it(
    verified: str, file: str, running: str, expected: Kind, is_drift: bool
) -> None:
    [only] = compare(verified=verified, file=file, running={"num_init_children": running}, catalogue=V43)

    assert (only.kind, only.is_drift) == (expected, is_drift)


@pytest.mark.parametrize("name", ["sr_check_password", "health_check_password0", "wd_authkey"])
def test_a_secret_is_told_as_changed_and_never_shown(name: str) -> None:
    told = found(f"{name} = 'old-secret'\n", f"{name} = 'new-secret'\n", **{name: "new-secret"})

    assert told == [(name, MASK, MASK, MASK, Kind.EDITED)]
    assert drift_words.changed(as_stored(Difference(*told[0]))) == f"{name} was changed"


def test_a_password_inside_a_command_is_hidden_and_its_change_told() -> None:
    verified, file = (f"failover_command = 'PGPASSWORD={word} psql'\n" for word in ("first", "second"))

    [only] = compare(verified=verified, file=file, running={"failover_command": "PGPASSWORD=***** psql"}, catalogue=V43)

    assert (only.verified, only.file, only.kind) == ("PGPASSWORD=***** psql", "PGPASSWORD=***** psql", Kind.EDITED)
    assert drift_words.changed(as_stored(only)) == "failover_command was changed"


@pytest.mark.parametrize("file", ["port = 1\n!!\n", "include '/etc/other.conf'\n", "password = 'x\nport = 1\n"])
def test_a_file_that_pgpool_would_refuse_is_one_difference(file: str) -> None:
    [only] = compare(verified="port = 1\n", file=file, running={"port": "1"}, catalogue=V43)

    assert (only.parameter, only.kind) == ("pgpool.conf", Kind.UNREADABLE)
    assert str(only.file).startswith("line ")


def test_parameters_come_in_the_order_of_their_numbers() -> None:
    names = [f"backend_weight{node_id}" for node_id in (10, 2, 1)]
    verified = "".join(f"{name} = 1\n" for name in names)

    assert [each[0] for each in found(verified, verified.replace("= 1\n", "= 2\n"))] == [
        "backend_weight1", "backend_weight2", "backend_weight10"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({0: "0", 1: "1"}, ""),
        ({0: "0", 1: "0"}, "all weights are 0: pgpool would send every read to node 0"),
        ({0: "1", 1: "abc"}, "backend_weight1 = 'abc' is no weight"),
        ({0: "1", 1: "1.0e999"}, "backend_weight1 = '1.0e999' is no weight"),
        ({0: "1", 1: "-1"}, "backend_weight1 = '-1' is no weight"),
        ({0: "1", 1: ""}, "backend_weight1 = '' is no weight"),
    ],
)
def test_weights_that_pgpool_would_not_balance_by_are_named(weights: dict[int, str], expected: str) -> None:
    assert drift.unusable_weights(weights) == expected


def stored(kind: Kind, verified: str | None = "500", file: str | None = "900") -> StoredDifference:
    running = "7" if kind in {Kind.NOT_IN_FORCE, Kind.PENDING_RESTART} else None
    return {"parameter": "delay_threshold", "verified": verified, "file": file, "running": running, "kind": kind.value}


EDITED, LIVE = stored(Kind.NOT_RELOADED), stored(Kind.EDITED_LIVE)
OTHER = stored(Kind.EDITED_LIVE, file="901")
STALE = stored(Kind.NOT_IN_FORCE, file="500")
WAITING = stored(Kind.PENDING_RESTART, file="500")
BROKEN: StoredDifference = {
    "parameter": "pgpool.conf", "verified": None, "file": "line 2: cannot read '!!'", "running": None,
    "kind": "unreadable",
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], [], None),
        ([], [EDITED], "Edited by hand on pgpool-b: delay_threshold 500 → 900"),
        ([EDITED], [EDITED], None),
        ([EDITED], [LIVE], None),  # pgpool has taken it in: the same change
        ([LIVE], [OTHER], "Edited by hand on pgpool-b: delay_threshold 500 → 901"),
        ([], [OTHER, STALE], "Edited by hand on pgpool-b: delay_threshold 500 → 901 and 1 more"),
        ([], [STALE], "pgpool-b does not use its file: delay_threshold is 7, its file says 500"),
        ([], [BROKEN], "Edited by hand on pgpool-b: pgpool.conf cannot be read: line 2: cannot read '!!'"),
        ([], [WAITING], None),
        ([LIVE], [], "pgpool-b is as it was verified again"),
        ([LIVE], [WAITING], "pgpool-b is as it was verified again"),
    ],
)
def test_every_change_is_told_once(
    before: list[StoredDifference], after: list[StoredDifference], expected: str | None
) -> None:
    def state(differences: list[StoredDifference]) -> str:
        return "drifted" if drift_words.drifted(differences) else "in_step"

    news = drift_words.news("pgpool-b", before=(state(before), before), after=(state(after), after))

    assert (news and news.title) == expected

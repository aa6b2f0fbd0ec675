"""The configuration of several pgpools side by side, row by row."""

from dataclasses import replace

import pytest

from apps.clusters.domain.configuration import Row, SeenPgpool, rows, titles
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.in_words import in_words


def found(*seen: SeenPgpool, name: str) -> Row:
    return next(row for row in rows(seen, node_ids=[0, 1]) if row.name == name)


def pgpool(name: str, version: str = "4.3.5", running: dict[str, str] | None = None, **file: str) -> SeenPgpool:
    return SeenPgpool(name, version, file, running or {})


def test_every_parameter_has_a_row_and_backends_have_one_each() -> None:
    names = [row.name for row in rows([pgpool("a")], node_ids=[0, 1])]

    assert len(names) == len(set(names)) > 150
    assert {"backend_weight0", "backend_weight1", "health_check_period", "port"} <= set(names)
    assert not {"backend_weight", "backend_weight2", "health_check_period0", "hostname0"} & set(names)


def test_numbered_parameters_that_somebody_names_have_rows_too() -> None:
    seen = pgpool("a", health_check_period1="5", hostname0="h", running={"health_check_period0": "2"})

    names = [row.name for row in rows([seen], node_ids=[0, 1])]

    assert names.index("health_check_period") + 1 == names.index("health_check_period0")
    assert {"health_check_period1", "hostname0"} <= set(names)


def test_a_backend_without_a_line_of_its_own_takes_what_is_set_for_all() -> None:
    seen = pgpool("a", health_check_period="2", health_check_user1="own", running={"health_check_period0": "2"})
    seen = replace(seen, running={**seen.running, "health_check_user0": "", "health_check_timeout0": "20"})

    assert found(seen, name="health_check_period0").values[0].effective == "2"
    assert not found(seen, name="health_check_period0").is_changed
    assert found(seen, name="health_check_user1").values[0].effective == "own"
    assert found(seen, name="health_check_user1").is_changed
    assert found(seen, name="health_check_timeout0").values[0].effective == "20"


def test_values_that_mean_the_same_do_not_differ() -> None:
    same = found(pgpool("a", client_idle_limit="1min"), pgpool("b", client_idle_limit="60"), name="client_idle_limit")
    other = found(pgpool("a", client_idle_limit="1min"), pgpool("b"), name="client_idle_limit")

    assert (same.differs, same.is_changed) == (False, True)
    assert (other.differs, [value.effective for value in other.values]) == (True, ["1min", "0"])


def test_a_default_that_is_written_out_is_not_changed() -> None:
    assert not found(pgpool("a", delay_threshold="0"), name="delay_threshold").is_changed
    assert found(pgpool("a", delay_threshold="5"), name="delay_threshold").is_changed


@pytest.mark.parametrize(
    ("in_file", "running", "is_waiting"),
    [("33", "32", True), ("32", "32", False), ("0x20", "32", False), ("32", None, None), (None, "32", None)],
)
def test_a_value_that_pgpool_does_not_run_is_waiting(
    in_file: str | None, running: str | None, is_waiting: bool | None
) -> None:
    file = {} if in_file is None else {"num_init_children": in_file}
    seen = SeenPgpool("a", "4.3.5", file, {} if running is None else {"num_init_children": running})

    assert found(seen, name="num_init_children").values[0].is_waiting is is_waiting


def test_a_password_that_pgpool_hides_waits_for_nothing() -> None:
    seen = pgpool("a", running={"sr_check_password": "*****"}, sr_check_password="x")

    assert found(seen, name="sr_check_password").values[0].is_waiting is None


def test_a_pgpool_without_a_known_file_shows_what_it_runs() -> None:
    seen = SeenPgpool("a", "4.3.5", None, {"max_pool": "7"})

    value = found(seen, name="max_pool").values[0]

    assert (value.file, value.effective, value.is_default) == (None, "7", False)
    assert found(seen, name="port").values[0].effective is None


def test_names_that_nobody_knows_stand_last_and_versions_are_joined() -> None:
    seen = [pgpool("a", nonsense="1"), pgpool("b", "4.6.1")]

    names = [row.name for row in rows(seen, node_ids=[0])]

    assert names[-1] == "nonsense"
    assert {"socket_dir", "unix_socket_directories"} <= set(names)
    assert list(titles(seen))[-1] == "unknown"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("delay_threshold", "10485760", "10\u00a0MB"),
        ("delay_threshold", "1000", "1,000\u00a0B"),
        ("delay_threshold", "1536", "1.5\u00a0kB"),
        ("child_life_time", "300", "5\u00a0min"),
        ("child_life_time", "90", "1.5\u00a0min"),
        ("child_life_time", "100", "100\u00a0s"),
        ("connect_timeout", "10000", "10\u00a0s"),
        ("log_rotation_age", "1d", "1\u00a0d"),
        ("log_rotation_size", "10MB", "10\u00a0MB"),
        ("client_idle_limit", "0", "0\u00a0s"),
        ("client_idle_limit", "nonsense", ""),
        ("max_pool", "4", ""),
        ("port", "9999", ""),
    ],
)
def test_figures_are_said_with_their_unit(name: str, text: str, words: str) -> None:
    parameter = catalogue.for_version("4.3").find(name)

    assert parameter is not None
    assert in_words(parameter, text) == words

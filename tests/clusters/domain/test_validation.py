"""What is said about a pgpool.conf, and about wished-for parameters, before anything is touched."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.clusters.domain.file_check import Surroundings, check_file
from apps.clusters.domain.findings import Severity
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.posix_patterns import pattern_trouble
from apps.clusters.domain.validation import check_wish, effects, read_wish, written_out
from tests.clusters.domain.malformed import BASE, CONNECTION_LIMITS, MALFORMED, WHOLE_FILE, Malformed

SURROUNDINGS = Surroundings(catalogue.for_version("4.3.5"), [0, 1], CONNECTION_LIMITS)
REG_EXTENDED_ICASE_NOSUB = 1 | 2 | 8


def test_there_are_enough_ways_to_break_a_file() -> None:
    assert len({case.text for case in MALFORMED}) >= 90
    assert check_file(BASE, SURROUNDINGS) == ()


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: repr(case.text[len(BASE) :] or case.parameter)[:50])
def test_every_error_names_line_parameter_and_remedy(case: Malformed) -> None:
    errors = [finding for finding in check_file(case.text, SURROUNDINGS) if finding.severity is Severity.ERROR]

    # A case that names nothing would hold for any error: it has to say why there is nothing to be named.
    assert case.parameter and case.remedy
    assert (case.parameter == WHOLE_FILE) is bool(case.why_no_name)
    assert (case.line is None) is bool(case.why_no_line)
    assert [
        finding
        for finding in errors
        if (finding.parameter, finding.line) == (case.parameter, case.line) and case.remedy in finding.suggestion
    ]
    assert all(finding.parameter and finding.suggestion for finding in errors)
    assert all(finding.line is not None or "is missing" in finding.message for finding in errors)
    assert "hunter" not in repr(errors)


def test_spaces_between_the_flags_of_a_backend_are_taken_from_4_6_on() -> None:
    text = BASE.replace("FAILOVER'", "FAILOVER | ALWAYS_PRIMARY'")
    newer = Surroundings(catalogue.for_version("4.6.1"), [0, 1], CONNECTION_LIMITS)

    assert [finding.parameter for finding in check_file(text, newer) if finding.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("wish", "severity", "parameter", "words"),
    [
        ({"delay_threshold": "1000"}, None, "", ""),
        ({"client_idle_limit": None}, None, "", ""),
        ({"client_idle_limit": "1min", "log_connections": "on"}, None, "", ""),
        ({"num_init_children": "33"}, Severity.NOTE, "num_init_children", "restart"),
        ({"num_init_children": "60"}, Severity.WARNING, "num_init_children", "num_init_children × max_pool = 120"),
        ({"max_pool": "4"}, Severity.WARNING, "num_init_children", "num_init_children × max_pool = 128"),
        ({"num_init_children": "98"}, Severity.ERROR, "num_init_children", "97 sessions"),
        ({"client_idle_limit": "010"}, Severity.WARNING, "client_idle_limit", "octal, so as 8"),
        ({"delay_treshold": "1"}, Severity.ERROR, "delay_treshold", "without a word"),
        ({"backend_weight0": "0", "backend_weight1": "0"}, Severity.ERROR, "backend_weight0", "every read"),
        ({"backend_weight5": "1"}, Severity.ERROR, "backend_weight5", "no backend 5"),
        ({"port": "5433"}, Severity.ERROR, "port", "lose sight"),
        ({"backend_hostname0": "elsewhere"}, Severity.ERROR, "backend_hostname0", "lose sight"),
        ({"failover_command": "/bin/sh %d"}, Severity.ERROR, "failover_command", "admin"),
        ({"arping_path": "/tmp"}, Severity.ERROR, "arping_path", "admin"),
        ({"log_line_prefix": "it's"}, Severity.ERROR, "log_line_prefix", "quote"),
        ({"log_line_prefix": "a\nport = 1"}, Severity.ERROR, "log_line_prefix", r"'\n'"),
        ({"log_line_prefix": "a\0"}, Severity.ERROR, "log_line_prefix", r"'\x00'"),
        ({"log_line_prefix": "\ud800"}, Severity.ERROR, "log_line_prefix", r"'\ud800'"),
        ({"log_line_prefix": "x" * 9000}, Severity.ERROR, "log_line_prefix", "9000 characters"),
        ({"memqcache_oiddir": None}, Severity.ERROR, "memqcache_oiddir", "packaged"),
        ({"\0\ud800" * 3000: "1"}, Severity.ERROR, "", "is no parameter"),
        ({"sr_check_password": "hunter\n3"}, Severity.ERROR, "sr_check_password", "no pgpool.conf can hold"),
        ({"memqcache_maxcache": "2000000"}, Severity.WARNING, "memqcache_maxcache", "does not fit"),
    ],
)
def test_a_wish_is_held_against_the_file_it_would_change(
    wish: dict[str, str | None], severity: Severity | None, parameter: str, words: str
) -> None:
    found = check_wish(wish, SURROUNDINGS, base=BASE, may_run_programs=False)

    assert "hunter" not in repr(found)
    if severity is None:
        assert found == ()
    else:
        assert [f for f in found if f.severity is severity and words in f.message and parameter in f.parameter]


def test_an_error_hides_nothing_that_is_to_be_said_of_the_others() -> None:
    wish = {"num_init_children": "9000", "delay_treshold": "1", "max_pool": "many", "client_idle_limit": "010"}

    found = check_wish(wish, SURROUNDINGS, base=BASE, may_run_programs=False)

    said = {(finding.parameter, finding.severity) for finding in found}
    assert said >= {
        ("delay_treshold", Severity.ERROR),
        ("max_pool", Severity.ERROR),
        ("num_init_children", Severity.ERROR),  # more than the backends take, which only the whole file tells
        ("num_init_children", Severity.NOTE),  # it waits for a restart
        ("client_idle_limit", Severity.WARNING),
    }
    assert len(found) == len(set(found))


def test_of_a_wish_that_is_wrong_as_a_whole_nothing_is_said_of_the_file() -> None:
    base = BASE.replace("max_pool", "max_pol")

    found = check_wish({"delay_treshold": "1"}, SURROUNDINGS, base=base, may_run_programs=False)

    assert [finding.parameter for finding in found] == ["delay_treshold"]


def test_what_was_wrong_before_is_told_and_is_nobodys_fault() -> None:
    base = f"{BASE}nonsense = 1\nclient_idle_limit = soon\n"

    found = check_wish({"delay_threshold": "5"}, SURROUNDINGS, base=base, may_run_programs=False)

    assert {(f.parameter, f.severity, f.line) for f in found} == {
        ("nonsense", Severity.WARNING, 15),
        ("client_idle_limit", Severity.WARNING, 16),
    }
    assert check_wish({"client_idle_limit": "60"}, SURROUNDINGS, base=base, may_run_programs=False) == found[:1]


def test_what_stood_twice_before_can_be_changed_and_what_an_edit_made_so_cannot() -> None:
    base = f"{BASE}delay_threshold = 1\n"
    wish = {"delay_threshold": "5"}

    [stood] = check_wish(wish, SURROUNDINGS, base=base, verified=base, may_run_programs=False)
    [edited] = check_wish(wish, SURROUNDINGS, base=base, verified=BASE, may_run_programs=False)

    assert (stood.severity, stood.parameter) == (Severity.WARNING, "delay_threshold")
    assert (edited.severity, edited.parameter) == (Severity.ERROR, "delay_threshold")
    assert "pgpool uses the last one" in stood.message
    assert edited.suggestion == "only '5', or only the other, or the edit adopted first, on the page Drift"


def test_a_file_that_cannot_be_read_stops_every_wish() -> None:
    found = check_wish({"delay_threshold": "5"}, SURROUNDINGS, base=f"{BASE}!!\n", may_run_programs=False)

    assert [(f.severity, f.line) for f in found] == [(Severity.ERROR, 15)]


def test_an_admin_may_change_what_runs_programs() -> None:
    wish = {"failover_command": "/etc/pgpool2/failover.sh %d %h"}

    assert check_wish(wish, SURROUNDINGS, base=BASE, may_run_programs=True) == ()
    assert check_wish(wish, SURROUNDINGS, base=None, may_run_programs=True) == ()


@pytest.mark.parametrize(
    ("raw", "wish", "wrong"),
    [
        (
            {"a": "1", "b": 2, "c": True, "d": None, "e": 1.5},
            {"a": "1", "b": "2", "c": "on", "d": None, "e": "1.5"},
            [],
        ),
        ({"a": float("inf"), "b": float("nan")}, {"a": "inf", "b": "nan"}, []),
        ({"a": 10**6000}, {"a": "9" * 31}, []),
        ({"a": [1], "b": {"c": 1}}, {}, ["a", "b"]),
        ([], {}, ["parameters"]),
        (None, {}, ["parameters"]),
        ({str(number): "1" for number in range(301)}, {}, ["parameters"]),
    ],
)
def test_json_is_read_as_texts(raw: object, wish: dict[str, str | None], wrong: list[str]) -> None:
    found, findings = read_wish(raw)

    assert found == wish
    assert [finding.parameter for finding in findings] == wrong


def test_a_default_is_written_out_and_effects_are_named() -> None:
    wish = {"client_idle_limit": None, "max_pool": "5", "delay_threshold": None, "logdir": None, "nonsense": "1"}

    assert written_out(wish, SURROUNDINGS.catalogue) == {
        "client_idle_limit": "0",
        "max_pool": "5",
        "delay_threshold": "0",
        "nonsense": "1",
    }
    assert effects(wish, SURROUNDINGS.catalogue) == {
        "client_idle_limit": "session",
        "max_pool": "restart",
        "delay_threshold": "reload",
        "logdir": "restart",
    }


def test_nothing_of_a_default_configuration_is_wrong() -> None:
    for version in catalogue.VERSIONS:
        known = catalogue.for_version(version)
        parameters = [p for p in known if p.default is not None and (p.numbered is None or p.is_bare)]
        text = BASE.replace("sr_check_password = 'hunter2'\n", "") + "".join(
            f"{p.name} = '{p.default}'\n" for p in parameters if p.name not in BASE
        )

        errors = [f for f in check_file(text, Surroundings(known, [0, 1])) if f.severity is Severity.ERROR]

        assert errors == [], version


PATTERN_PARTS = (
    *("a", "(", ")", "[", "]", "[^", "-", "*", "+", "?", "{", "}", "{2}", "{1,3}", "|", "^", "$", ".", "9", ",", "Z"),
    *("\\", "\\1", "[:alpha:]", "[[:digit:]]"),
)


@given(st.lists(st.sampled_from(PATTERN_PARTS), min_size=1, max_size=8).map("".join))
def test_every_pattern_that_passes_compiles_in_the_c_library(pattern: str) -> None:
    if pattern_trouble(pattern) is not None:
        return
    library = ctypes.CDLL(None)
    compiled = ctypes.create_string_buffer(256)

    code = library.regcomp(compiled, f"^{pattern}$".encode(), REG_EXTENDED_ICASE_NOSUB)

    assert code == 0
    library.regfree(compiled)


@pytest.mark.parametrize(
    "pattern",
    ["f", "nextval", "^get_.*", "f(a|b)", "[a-z_]+", "[]x]", "a{2,3}", "(x)\\1", ".*\\.t", "[[:alpha:]]x", "a**"],
)
def test_patterns_that_people_write_pass(pattern: str) -> None:
    assert pattern_trouble(pattern) is None

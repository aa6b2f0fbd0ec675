"""The catalogue of parameters, held to what two real pgpools show."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.parameter import Context, Kind, Parameter, normal, number, same_value

CAPTURED = Path(__file__).parents[2] / "captured"
# As read in the program's own table, in every version from 3.7 to 4.7.
RESTART = (
    "load_balance_mode memory_cache_enabled memqcache_method memqcache_total_size memqcache_max_num_cache"
    " memqcache_expire memqcache_maxcache memqcache_cache_block_size memqcache_memcached_host memqcache_oiddir"
    " relcache_expire num_init_children max_pool listen_backlog_multiplier child_life_time child_max_connections"
    " connection_life_time port pcp_port pool_passwd"
)
RELOAD = (
    "backend_hostname0 backend_port1 backend_weight2 backend_flag0 memqcache_auto_cache_invalidation"
    " database_redirect_preference_list app_name_redirect_preference_list delay_threshold sr_check_period"
    " health_check_period health_check_period1 connect_timeout enable_pool_hba log_connections"
)
SESSION = "client_idle_limit allow_sql_comments log_statement log_per_node_statement log_min_messages"
# Members of a watchdog are shown where some are configured; neither of these two pgpools had any.
ONLY_WITH_A_WATCHDOG = ("heartbeat_", "wd_port", "pgpool_port", "hostname")
NO_FIGURES = ["", " ", "inf", "nan", "1e400", "9" * 5000, "1 MB", "5x", "089", "٣", "1\0", "--5", "1e3"]


def shown(version: str) -> Iterator[tuple[str, str]]:
    for line in (CAPTURED / f"pgpool-{version}" / "pgpool_show_all.At.txt").read_text().splitlines():
        name, value, _ = line.split("|", 2)
        yield name, value


@pytest.mark.parametrize("version", ["4.3.5", "4.6.1"])
def test_every_name_that_a_pgpool_shows_is_known_and_its_value_is_one_the_parameter_can_hold(version: str) -> None:
    known = catalogue.for_version(version)

    rows = list(shown(version))

    assert [name for name, _ in rows if known.find(name) is None] == []
    for name, value in rows:
        parameter = known.find(name)
        assert parameter is not None
        if parameter.kind in {Kind.INTEGER, Kind.FLOAT}:
            amount = number(parameter, value)
            assert amount is not None, name
            assert parameter.minimum <= amount <= parameter.maximum, name  # type: ignore[operator]
        elif parameter.kind is Kind.BOOL:
            assert value in {"on", "off"}, name
        elif parameter.kind is Kind.ENUM:
            assert value in parameter.choices, name


@pytest.mark.parametrize("version", ["4.3.5", "4.6.1"])
def test_nothing_is_believed_known_that_a_pgpool_does_not_show(version: str) -> None:
    families = {re.sub(r"\d$", "", name) for name, _ in shown(version)}

    # Watchdog members and heartbeats are shown where some are configured; the third is shown as an older name's value.
    unseen = {p.name for p in catalogue.for_version(version) if p.name not in families}

    assert {
        name for name in unseen if not name.startswith(("heartbeat_", "wd_port", "pgpool_port", "hostname"))
    } == set()


@pytest.mark.parametrize("version", catalogue.VERSIONS)
def test_contexts_are_those_of_the_program(version: str) -> None:
    known = catalogue.for_version(version)

    for names, context in ((RESTART, Context.RESTART), (RELOAD, Context.RELOAD), (SESSION, Context.SESSION)):
        found = [known.find(name) for name in names.split()]
        assert [parameter and parameter.context for parameter in found] == [context] * len(found)


@pytest.mark.parametrize(
    ("version", "name", "is_known"),
    [
        ("3.7", "statement_level_load_balance", False),
        ("4.1", "statement_level_load_balance", True),
        ("4.1", "black_function_list", True),
        ("4.2", "black_function_list", False),
        ("4.2", "write_function_list", True),
        ("4.3", "socket_dir", True),
        ("4.4", "socket_dir", False),
        ("4.4", "unix_socket_directories", True),
        ("4.5", "log_backend_messages", False),
        ("4.6", "log_backend_messages", True),
        ("4.7", "work_dir", True),
        ("4.1", "wd_port", True),  # of this pgpool, until 4.1
        ("4.2", "wd_port", False),  # of every pgpool since, so it takes a number
        ("4.2", "wd_port0", True),
        ("4.3", "backend_weight", False),
        ("4.3", "backend_weight0", True),
        ("4.3", "backend_weight127", True),
        ("4.3", "backend_weight128", False),
        ("4.3", "backend_weight01", False),
        ("4.3", "health_check_period", True),
        ("4.3", "health_check_period7", True),
        ("4.3", "port0", False),
        ("4.3", "Port", False),
        ("4.3", "", False),
        ("4.3", "backend_weight" + "9" * 5000, False),
    ],
)
def test_a_name_is_known_to_the_versions_that_have_it(version: str, name: str, is_known: bool) -> None:
    assert (catalogue.for_version(version).find(name) is not None) is is_known


def test_a_numbered_parameter_says_whose_it_is() -> None:
    weight = catalogue.for_version("4.3").find("backend_weight2")

    assert weight is not None
    assert (weight.name, weight.node_id, weight.group, weight.kind) == ("backend_weight2", 2, "backends", Kind.FLOAT)


@pytest.mark.parametrize(
    ("text", "version"),
    [("4.3.5 (tamahomeboshi)", "4.3"), ("pgpool-II 4.6.1", "4.6"), ("5.0", "4.7"), ("3.6.9", "3.7"), ("4.10", "4.7")],
)
def test_an_unknown_version_gets_the_nearest(text: str, version: str) -> None:
    assert catalogue.for_version(text).version == version
    assert catalogue.for_version(None).version == catalogue.for_version("?").version == "4.7"


@pytest.mark.parametrize(
    ("version", "name", "default"),
    [
        ("4.2", "sr_check_period", "0"),
        ("4.3", "sr_check_period", "10"),
        ("4.2", "load_balance_mode", "off"),
        ("4.6", "log_pcp_processes", "on"),
        ("4.7", "log_pcp_processes", "off"),
        ("4.5", "sr_check_user", "nobody"),
        ("4.6", "sr_check_user", ""),
        ("4.3", "logdir", None),
    ],
)
def test_defaults_are_those_of_the_version(version: str, name: str, default: str | None) -> None:
    parameter = catalogue.for_version(version).find(name)

    assert parameter is not None
    assert parameter.default == default


def test_facts_besides_the_default_follow_the_version_too() -> None:
    def facts(version: str, name: str) -> Parameter:
        found = catalogue.for_version(version).find(name)
        assert found is not None
        return found

    assert (facts("4.0", "check_temp_table").kind, facts("4.1", "check_temp_table").kind) == (Kind.BOOL, Kind.ENUM)
    assert (facts("4.4", "delay_threshold_by_time").unit, facts("4.5", "delay_threshold_by_time").unit) == ("s", "ms")
    assert "master" in facts("4.1", "relcache_query_target").choices
    assert "slony" not in facts("4.7", "backend_clustering_mode").choices
    assert facts("4.2", "write_function_list").renamed_from == ("black_function_list",)


@pytest.mark.parametrize(
    ("version", "name", "renamed_to", "is_still_accepted"),
    [
        ("4.2", "black_query_pattern_list", "primary_routing_query_pattern_list", False),
        ("4.3", "fail_over_on_backend_error", "failover_on_backend_error", False),
        ("4.3", "other_pgpool_port1", "pgpool_port1", False),
        ("4.3", "wd_hostname", "hostname0", False),
        ("4.4", "socket_dir", "unix_socket_directories", False),
        ("4.4", "delegate_IP", "delegate_ip", True),
        ("4.3", "unix_socket_directories", None, False),  # not yet
    ],
)
def test_a_name_of_another_version_is_no_riddle(
    version: str, name: str, renamed_to: str | None, is_still_accepted: bool
) -> None:
    stranger = catalogue.for_version(version).stranger(name)

    assert stranger is not None
    assert (stranger.renamed_to, stranger.is_still_accepted) == (renamed_to, is_still_accepted)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("load_balance", "load_balance_mode"),
        ("delay_treshold", "delay_threshold"),
        ("backend_wieght2", "backend_weight2"),
        ("backend_weight", "backend_weight0"),
        ("Num_Init_Children", "num_init_children"),
        ("health-check-period", "health_check_period"),
        ("nonsense", None),
        ("", None),
        ("x\n\0" * 4000, None),
    ],
)
def test_the_nearest_name_is_the_one_that_was_meant(written: str, meant: str | None) -> None:
    assert catalogue.for_version("4.3").nearest(written) == meant


@pytest.mark.parametrize(
    ("name", "one", "other", "is_same"),
    [
        ("client_idle_limit", "1min", "60", True),
        ("client_idle_limit", "1min", "61", False),
        ("client_idle_limit", "010", "8", True),  # octal, as strtol reads it
        ("client_idle_limit", "0x20", "32", True),
        ("connect_timeout", "10s", "10000", True),
        ("delay_threshold", "1001B", "1001", True),
        ("memqcache_total_size", "64MB", "67108864", True),
        ("log_rotation_size", "10MB", "10240", True),
        ("log_rotation_age", "1d", "1440", True),
        ("log_connections", "yes", "on", True),
        ("log_connections", "0", "off", True),
        ("log_connections", "on", "off", False),
        ("backend_weight0", "2", "2.0", True),
        ("backend_weight0", "0.25", "0", False),
        ("backend_weight0", "nan", "nan", True),  # the same text, whatever it means
        ("client_min_messages", "DEBUG1", "debug1", True),
        ("write_function_list", "a, b", "a,b", True),
        ("log_line_prefix", "%t: ", "%t:", False),
        ("log_file_mode", "0600", "384", True),
        ("port", None, "9999", False),
        ("port", None, None, True),
    ],
)
def test_values_that_mean_the_same_are_the_same(name: str, one: str | None, other: str | None, is_same: bool) -> None:
    parameter = catalogue.for_version("4.3").find(name)

    assert parameter is not None
    assert same_value(parameter, one, other) is is_same


@pytest.mark.parametrize(
    "text", ["", " ", "inf", "nan", "1e400", "9" * 5000, "1 MB", "5x", "089", "٣", "1\0", "--5", "1e3"]
)
def test_what_is_no_figure_is_left_alone(text: str) -> None:
    parameter = catalogue.for_version("4.3").find("num_init_children")

    assert parameter is not None
    assert number(parameter, text) is None
    assert normal(parameter, text) == text

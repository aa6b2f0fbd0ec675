"""Broken pgpool.conf files: what a pgpool would refuse, misread, or pass over without a word."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apps.clusters.domain import pgpool_conf

BASE = """\
listen_addresses = '*'
port = 9999
backend_hostname0 = 'pg0.example'
backend_port0 = 5432
backend_weight0 = 1
backend_flag0 = 'ALLOW_TO_FAILOVER'
backend_hostname1 = 'pg1.example'
backend_port1 = 5432
backend_weight1 = 1
num_init_children = 32
max_pool = 2
load_balance_mode = on
delay_threshold = 0
sr_check_password = 'hunter2'
"""
CONNECTION_LIMITS = {0: 97, 1: 97}
# A file that cannot be read as a whole has no parameter to name where none stands.
WHOLE_FILE = "pgpool.conf"
NO_NAME = "what stands on the line is no name of a parameter"
NO_LINE = "what is wrong is that there is no such line"


@dataclass(frozen=True)
class Malformed:
    """text: the whole file. parameter, line, remedy: what its error must name, a part of the remedy at least.

    why_no_name, why_no_line: why it can name none, and that it must not. is_refused: whether pgpool itself says no,
    asked to parse it: 4.3.5, and 4.6.1 as well unless is_taken_later, which finds nothing wrong then. wish: the same as
    parameters that somebody asks for, empty where they cannot express it. is_adoptable: as an edit by hand, pgpool uses
    it as it can be read.
    """

    text: str
    parameter: str
    line: int | None
    remedy: str
    is_refused: bool = False
    is_taken_later: bool = False
    why_no_name: str = ""
    why_no_line: str = ""
    wish: Mapping[str, str] = field(default_factory=dict)
    is_adoptable: bool = False


# How a sound file is broken: BASE, or that of a real pgpool.
Break = Callable[[str], Malformed]


def added(line: str, parameter: str, remedy: str, *, is_refused: bool = False, is_taken_later: bool = False) -> Break:
    """A line at the end. {beyond}: the number after that of the last backend."""

    def broken(base: str) -> Malformed:
        number = str(len(re.findall(r"(?m)^backend_hostname\d", base)))
        new = line.replace("{beyond}", number)
        name = parameter.replace("{beyond}", number)
        why = NO_NAME if name == WHOLE_FILE else ""
        at = base.count("\n") + 1
        text = f"{base}{new}\n"
        return Malformed(text, name, at, remedy, is_refused, is_taken_later, why_no_name=why, wish=_wish(new))

    return broken


def instead(name: str, value: str, remedy: str, *, is_refused: bool = False, is_taken_later: bool = False) -> Break:
    """Another value of a parameter that the file names."""

    def broken(base: str) -> Malformed:
        line = f"{name} = {value}".rstrip()
        text, count = re.subn(rf"(?m)^{name} =.*$", lambda _: line, base)
        assert count == 1, name
        return Malformed(text, name, _line(base, name), remedy, is_refused, is_taken_later, wish=_wish(line))

    return broken


def again(name: str, value: str, remedy: str) -> Break:
    """A second line of a parameter that the file names; pgpool uses the last one."""

    def broken(base: str) -> Malformed:
        return Malformed(f"{base}{name} = {value}\n", name, _line(base, name), remedy, is_adoptable=True)

    return broken


def without(name: str, remedy: str) -> Break:
    def broken(base: str) -> Malformed:
        text, count = re.subn(rf"(?m)^{name} =.*\n", "", base)
        assert count == 1, name
        return Malformed(text, name, None, remedy, why_no_line=NO_LINE)

    return broken


def empty(base: str) -> Malformed:
    return Malformed("", "backend_hostname0", None, "a line backend_hostname0", why_no_line="the file has no lines")


def cut_off(base: str) -> Malformed:
    """What a copy leaves that did not come to its end."""
    text = base[: base.index("backend_hostname1")]
    return Malformed(text, "backend_hostname1", None, "a line backend_hostname1", why_no_line=NO_LINE)


def ended_by_a_comment(base: str) -> Malformed:
    at = base.count("\n") + 1
    why = "a comment names no parameter"
    return Malformed(f"{base}# the end", WHOLE_FILE, at, "a line break at the end", why_no_name=why)


def without_any_weight(base: str) -> Malformed:
    text = re.sub(r"(?m)^(backend_weight\d+) =.*$", r"\1 = 0", base)
    names = re.findall(r"(?m)^(backend_weight\d+) =", base)
    wish = dict.fromkeys(names, "0")
    return Malformed(text, "backend_weight0", _line(base, "backend_weight0"), "at least one weight above 0", wish=wish)


def _line(text: str, name: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(f"{name} ="))


def _wish(line: str) -> dict[str, str]:
    try:
        return pgpool_conf.parse(f"{line}\n").values()
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return {}


BREAKS: list[Break] = [
    # what cannot be read at all
    added("!!", WHOLE_FILE, "one setting per line", is_refused=True),
    added("= 5", WHOLE_FILE, "one setting per line", is_refused=True),
    added("5 = 5", WHOLE_FILE, "one setting per line", is_refused=True),
    added("'x' = 5", WHOLE_FILE, "one setting per line", is_refused=True),
    added("log_connections = on;", "log_connections", "one setting per line", is_refused=True),
    added("log_connections = on'", "log_connections", "a quote at the end", is_refused=True),
    added("log_connections = 'on", "log_connections", "a quote at the end"),
    added("log_line_prefix = 'it's'", "log_line_prefix", "a quote at the end"),
    added('log_connections = "on"', "log_connections", "one setting per line"),
    added("log_connections = = on", "log_connections", "one setting per line"),
    added("client_idle_limit = 1e3", "client_idle_limit", "one setting per line", is_refused=True),
    added("backend-weight0 = 1", "backend-weight0", "one setting per line", is_refused=True),
    added("[general]", WHOLE_FILE, "one setting per line", is_refused=True),
    added("log_connections: on", "log_connections", "one setting per line", is_refused=True),
    added("log_line_prefix = 'a\0b'", "log_line_prefix", "without it"),
    added("log_line_prefix = 'a\x1bb'", "log_line_prefix", "without it"),
    ended_by_a_comment,
    added("include 'more.conf'", "include", "all settings in one file", is_refused=True),
    added("include = 'more.conf'", "include", "all settings in one file", is_refused=True),
    # names
    added("nonsense = 1", "nonsense", "a name of the Configuration page"),
    added("load_balance = on", "load_balance", "load_balance_mode"),
    added("delay_treshold = 5", "delay_treshold", "delay_threshold"),
    added("Delay_Threshold = 5", "Delay_Threshold", "delay_threshold"),
    added("\ufefflog_connections = on", r"'\ufefflog_connections'", "log_connections"),
    added("include_if_exists 'more.conf'", "include_if_exists", "a name of the Configuration page"),
    added("client_idle_limit = 5 s", "s", "a name of the Configuration page"),
    added("backend_weight = 1", "backend_weight", "backend_weight0", is_refused=True),
    added("backend_weight01 = 1", "backend_weight01", "backend_weight1"),
    added("backend_weight200 = 1", "backend_weight200", "backend_weight0", is_refused=True),
    added("backend_weightx = 1", "backend_weightx", "backend_weight0", is_refused=True),
    added("fail_over_on_backend_error = off", "fail_over_on_backend_error", "failover_on_backend_error"),
    added("black_function_list = 'nextval'", "black_function_list", "write_function_list"),
    added("master_slave_mode = on", "master_slave_mode", "backend_clustering_mode"),
    added("follow_master_command = ''", "follow_master_command", "follow_primary_command"),
    added("other_wd_port0 = 9000", "other_wd_port0", "wd_port0"),
    added("unix_socket_directories = '/tmp'", "unix_socket_directories", "no such line", is_taken_later=True),
    added("log_backend_messages = terse", "log_backend_messages", "no such line", is_taken_later=True),
    added("backend_weight{beyond} = 1", "backend_weight{beyond}", "a number among 0, 1"),
    added("health_check_period7 = 5", "health_check_period7", "a number among 0, 1"),
    # values
    instead("backend_weight0", "abc", "a number from 0"),
    instead("backend_weight0", "", "a number from 0"),
    instead("backend_weight0", "''", "a number from 0"),
    instead("backend_weight0", "-1", "from 0", is_refused=True),
    instead("backend_weight0", "1000000000", "100000000", is_refused=True),
    instead("backend_weight0", "'inf'", "a number", is_refused=True),
    instead("backend_weight0", "'nan'", "a number from 0"),
    instead("backend_weight0", "'1e400'", "a number", is_refused=True),
    instead("backend_weight0", f"{'9' * 5000}", "a number", is_refused=True),
    instead("backend_weight0", "'50%'", "a number from 0"),
    instead("backend_weight0", "1,5", "one setting", is_refused=True),
    instead("backend_weight0", "'0x10'", "a number from 0"),
    instead("num_init_children", "lots", "whole", is_refused=True),
    instead("num_init_children", "0", "from 1", is_refused=True),
    instead("num_init_children", "'5s'", "whole", is_refused=True),
    instead("delay_threshold", "-5", "from 0", is_refused=True),
    instead("delay_threshold", "'1KB'", "kB", is_refused=True),
    instead("delay_threshold", f"{'9' * 30}", "from 0", is_refused=True),
    added("client_idle_limit = '089'", "client_idle_limit", "whole number", is_refused=True),
    added("client_idle_limit = '1MIN'", "client_idle_limit", "min", is_refused=True),
    added("health_check_period = '1min'", "health_check_period", "in s", is_refused=True),
    added("client_idle_limit =", "client_idle_limit", "whole number", is_refused=True),
    added("log_per_node_statement = maybe", "log_per_node_statement", "on or off"),
    added("log_per_node_statement = 'ja'", "log_per_node_statement", "on or off"),
    added("log_per_node_statement = 2", "log_per_node_statement", "on or off"),
    added("log_per_node_statement =", "log_per_node_statement", "on or off"),
    added("disable_load_balance_on_write = sometimes", "disable_load_balance_on_write", "always", is_refused=True),
    added("backend_clustering_mode = 'streaming'", "backend_clustering_mode", "raw", is_refused=True),
    instead("backend_flag0", "'NONSENSE'", "ALWAYS_PRIMARY", is_refused=True),
    instead("backend_flag0", "'DISALLOW_TO_FAILOVER|ALLOW_TO_FAILOVER'", "one of the two", is_refused=True),
    instead("backend_flag0", "'ALLOW_TO_FAILOVER | ALWAYS_PRIMARY'", "no spaces", is_refused=True, is_taken_later=True),
    added("log_destination = 'nowhere'", "log_destination", "syslog", is_refused=True),
    added("log_file_mode = 0999", "log_file_mode", "octal", is_refused=True),
    added("memqcache_cache_block_size = 511", "memqcache_cache_block_size", "from 512", is_refused=True),
    added("write_function_list = 'f,(('", "write_function_list", "patterns"),
    added("read_only_function_list = '[a-'", "read_only_function_list", "patterns"),
    added("primary_routing_query_pattern_list = 'a;*b'", "primary_routing_query_pattern_list", "patterns"),
    added("primary_routing_query_pattern_list = 'a;;b'", "primary_routing_query_pattern_list", "patterns"),
    added("cache_unsafe_memqcache_table_list = 't{9999}'", "cache_unsafe_memqcache_table_list", "patterns"),
    added("database_redirect_preference_list = 'x'", "database_redirect_preference_list", "patterns"),
    added("app_name_redirect_preference_list = 'a:b'", "app_name_redirect_preference_list", "with ,", is_refused=True),
    added("sr_check_password = '*****'", "sr_check_password", "the real value"),
    # settings that do not go together
    again("delay_threshold", "1234", "only '1234'"),
    again("sr_check_password", "'hunter3'", "*****"),
    added("reserved_connections = 32", "reserved_connections", "less than 32"),
    added("heartbeat_port0 = 9694", "heartbeat_port0", "heartbeat_hostname0"),
    added("replication_mode = on", "replication_mode", "failover_when_quorum_exists = off", is_refused=True),
    added("use_watchdog = on", "use_watchdog", "hostname0", is_refused=True),
    instead("num_init_children", "100000", "at most"),
    without("backend_weight1", "a line backend_weight1 = 1"),
    without("backend_hostname1", "a line backend_hostname1"),
    empty,
    cut_off,
    without_any_weight,
]

MALFORMED = [broken(BASE) for broken in BREAKS]

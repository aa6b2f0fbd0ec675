"""Broken pgpool.conf files: what a pgpool would refuse, misread, or pass over without a word."""

from dataclasses import dataclass

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
NEXT_LINE = BASE.count("\n") + 1
CONNECTION_LIMITS = {0: 97, 1: 97}


@dataclass(frozen=True)
class Malformed:
    """text: the whole file. is_refused: whether pgpool itself says no, asked to parse it: 4.3.5, and 4.6.1 as well
    unless is_taken_later.
    """

    text: str
    parameter: str
    line: int | None
    remedy: str
    is_refused: bool = False
    is_taken_later: bool = False


def added(line: str, parameter: str, remedy: str, *, is_refused: bool = False) -> Malformed:
    return Malformed(f"{BASE}{line}\n", parameter, NEXT_LINE, remedy, is_refused)


def instead(
    old: str, new: str, parameter: str, remedy: str, *, is_refused: bool = False, is_taken_later: bool = False
) -> Malformed:
    """Another line at the place of one of BASE."""
    line = BASE[: BASE.index(old)].count("\n") + 1
    return Malformed(BASE.replace(old, new), parameter, line, remedy, is_refused, is_taken_later)


def without(*lines: str, parameter: str, remedy: str) -> Malformed:
    text = BASE
    for line in lines:
        assert line in text
        text = text.replace(f"{line}\n", "")
    return Malformed(text, parameter, None, remedy)


MALFORMED = [
    # what cannot be read at all
    added("!!", "", "one setting per line", is_refused=True),
    added("= 5", "", "one setting per line", is_refused=True),
    added("5 = 5", "", "one setting per line", is_refused=True),
    added("'x' = 5", "", "one setting per line", is_refused=True),
    added("log_connections = on;", "log_connections", "one setting per line", is_refused=True),
    added("log_connections = on'", "log_connections", "a quote at the end", is_refused=True),
    added("log_connections = 'on", "log_connections", "a quote at the end"),
    added("log_line_prefix = 'it's'", "log_line_prefix", "a quote at the end"),
    added('log_connections = "on"', "log_connections", "one setting per line"),
    added("log_connections = = on", "log_connections", "one setting per line"),
    added("client_idle_limit = 1e3", "client_idle_limit", "one setting per line", is_refused=True),
    added("backend-weight0 = 1", "", "", is_refused=True),
    added("[general]", "", "one setting per line", is_refused=True),
    added("log_connections: on", "log_connections", "one setting per line", is_refused=True),
    added("log_line_prefix = 'a\0b'", "log_line_prefix", "without it"),
    added("log_line_prefix = 'a\x1bb'", "log_line_prefix", "without it"),
    Malformed(f"{BASE}# the end", "", NEXT_LINE, "a line break at the end"),
    added("include 'more.conf'", "include", "all settings in one file", is_refused=True),
    added("include = 'more.conf'", "include", "all settings in one file", is_refused=True),
    # names
    added("nonsense = 1", "nonsense", "a name of the Configuration page"),
    added("load_balance = on", "load_balance", "load_balance_mode"),
    added("delay_treshold = 5", "delay_treshold", "delay_threshold"),
    added("Delay_Threshold = 5", "Delay_Threshold", "delay_threshold"),
    added("\ufefflog_connections = on", "", "log_connections"),
    added("include_if_exists 'more.conf'", "include_if_exists", ""),
    added("client_idle_limit = 5 s", "s", ""),
    added("backend_weight = 1", "backend_weight", "backend_weight0", is_refused=True),
    added("backend_weight01 = 1", "backend_weight01", "backend_weight1"),
    added("backend_weight200 = 1", "backend_weight200", "", is_refused=True),
    added("backend_weightx = 1", "backend_weightx", "backend_weight0", is_refused=True),
    added("fail_over_on_backend_error = off", "fail_over_on_backend_error", "failover_on_backend_error"),
    added("black_function_list = 'nextval'", "black_function_list", "write_function_list"),
    added("master_slave_mode = on", "master_slave_mode", "backend_clustering_mode"),
    added("follow_master_command = ''", "follow_master_command", "follow_primary_command"),
    added("other_wd_port0 = 9000", "other_wd_port0", "wd_port0"),
    added("unix_socket_directories = '/tmp'", "unix_socket_directories", "no such line"),
    added("log_backend_messages = terse", "log_backend_messages", "no such line"),
    added("backend_weight2 = 1", "backend_weight2", "a number among 0, 1"),
    added("health_check_period7 = 5", "health_check_period7", "a number among 0, 1"),
    # values
    instead("backend_weight0 = 1", "backend_weight0 = abc", "backend_weight0", "a number from 0"),
    instead("backend_weight0 = 1", "backend_weight0 =", "backend_weight0", "a number from 0"),
    instead("backend_weight0 = 1", "backend_weight0 = ''", "backend_weight0", "a number from 0"),
    instead("backend_weight0 = 1", "backend_weight0 = -1", "backend_weight0", "from 0", is_refused=True),
    instead("backend_weight0 = 1", "backend_weight0 = 1000000000", "backend_weight0", "100000000", is_refused=True),
    instead("backend_weight0 = 1", "backend_weight0 = 'inf'", "backend_weight0", "a number", is_refused=True),
    instead("backend_weight0 = 1", "backend_weight0 = 'nan'", "backend_weight0", "a number from 0"),
    instead("backend_weight0 = 1", "backend_weight0 = '1e400'", "backend_weight0", "a number", is_refused=True),
    instead("backend_weight0 = 1", f"backend_weight0 = {'9' * 5000}", "backend_weight0", "a number", is_refused=True),
    instead("backend_weight0 = 1", "backend_weight0 = '50%'", "backend_weight0", "a number from 0"),
    instead("backend_weight0 = 1", "backend_weight0 = 1,5", "backend_weight0", "one setting", is_refused=True),
    instead("backend_weight0 = 1", "backend_weight0 = '0x10'", "backend_weight0", "a number from 0"),
    instead("num_init_children = 32", "num_init_children = lots", "num_init_children", "whole", is_refused=True),
    instead("num_init_children = 32", "num_init_children = 0", "num_init_children", "from 1", is_refused=True),
    instead("num_init_children = 32", "num_init_children = '5s'", "num_init_children", "whole", is_refused=True),
    instead("delay_threshold = 0", "delay_threshold = -5", "delay_threshold", "from 0", is_refused=True),
    instead("delay_threshold = 0", "delay_threshold = '1KB'", "delay_threshold", "kB", is_refused=True),
    instead("delay_threshold = 0", f"delay_threshold = {'9' * 30}", "delay_threshold", "from 0", is_refused=True),
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
    instead("ALLOW_TO_FAILOVER", "NONSENSE", "backend_flag0", "ALWAYS_PRIMARY", is_refused=True),
    instead("'ALLOW_TO", "'DISALLOW_TO_FAILOVER|ALLOW_TO", "backend_flag0", "one of the two", is_refused=True),
    instead(
        "FAILOVER'", "FAILOVER | ALWAYS_PRIMARY'", "backend_flag0", "no spaces", is_refused=True, is_taken_later=True
    ),
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
    Malformed(f"{BASE}delay_threshold = 1000\n", "delay_threshold", NEXT_LINE - 2, "only '1000'"),
    Malformed(f"{BASE}sr_check_password = 'hunter3'\n", "sr_check_password", NEXT_LINE - 1, "*****"),
    added("reserved_connections = 32", "reserved_connections", "less than 32"),
    added("heartbeat_port0 = 9694", "heartbeat_port0", "heartbeat_hostname0"),
    added("replication_mode = on", "replication_mode", "failover_when_quorum_exists = off", is_refused=True),
    added("use_watchdog = on", "use_watchdog", "hostname0", is_refused=True),
    instead("num_init_children = 32", "num_init_children = 98", "num_init_children", "at most 97"),
    without("backend_weight1 = 1", parameter="backend_weight1", remedy="a line backend_weight1 = 1"),
    without("backend_hostname1 = 'pg1.example'", parameter="backend_hostname1", remedy="a line backend_hostname1"),
    Malformed("", "backend_hostname0", None, "a line backend_hostname0"),
    Malformed(BASE[: len(BASE) // 2], "", None, ""),
    Malformed(BASE.replace("backend_weight0 = 1", "backend_weight0 = 0").replace("weight1 = 1", "weight1 = 0"),
              "backend_weight0", 5, "at least one weight above 0"),
]  # fmt: skip

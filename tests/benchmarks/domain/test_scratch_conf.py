"""The configuration of a scratch pgpool: nothing in it can touch the real cluster, and all that is measured stays."""

import pytest

from apps.benchmarks.domain.scratch_conf import Account, Scratch, scratch_text
from apps.clusters.domain.pgpool_conf import ConfigSyntaxError, UnwritableValue, parse

REAL = """# orders, zone a
backend_clustering_mode = 'streaming_replication'
listen_addresses = '*'
port = 5433
socket_dir = '/run/pgpool'
pcp_port = 9898
backend_hostname0 = 'pg1'
backend_weight0 = 1
backend_flag0 = 'ALLOW_TO_FAILOVER'
backend_hostname1 = 'pg2'
backend_weight1 = 3
backend_flag1 = 'ALWAYS_PRIMARY|ALLOW_TO_FAILOVER'
num_init_children = 320
max_pool = 4
health_check_period = 10
health_check_period1 = 5
failover_command = '/etc/pgpool/failover.sh %d'
follow_primary_command = '/etc/pgpool/follow.sh'
failback_command = '/etc/pgpool/failback.sh'
recovery_1st_stage_command = 'recovery_1st_stage'
wd_escalation_command = 'ip addr add 10.0.0.1'
use_watchdog = on
auto_failback = on
failover_on_backend_error = on
enable_pool_hba = on
pool_passwd = 'pool_passwd'
ssl = on
sr_check_user = 'checker'
sr_check_password = 'checked'
memory_cache_enabled = on
memqcache_method = 'shmem'
memqcache_total_size = 256MB
memqcache_oiddir = '/var/log/pgpool/oiddir'
cache_unsafe_memqcache_table_list = 'audit.*'
statement_level_load_balance = on
"""
ACCOUNT = Account("app", "s3cret", "shop")


def made(storage: str = "shmem", text: str = REAL, memcached_port: int | None = None) -> dict[str, str]:
    scratch = Scratch(storage, 27001, 27002, "/tmp/lg/one", memcached_port)
    return parse(scratch_text(text, scratch, clients=8, account=ACCOUNT)).values()


def test_it_can_neither_start_a_failover_nor_be_heard() -> None:
    found = made()

    for command in ("failover_command", "follow_primary_command", "failback_command", "recovery_1st_stage_command"):
        assert found[command] == ""
    assert found["wd_escalation_command"] == ""
    assert [found[name] for name in ("use_watchdog", "auto_failback", "failover_on_backend_error")] == ["off"] * 3
    assert found["backend_flag0"] == "DISALLOW_TO_FAILOVER"
    assert found["backend_flag1"] == "ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER"  # only the file tells the primary then
    assert (found["health_check_period"], found["health_check_period1"]) == ("0", "0")
    assert (found["listen_addresses"], found["pcp_listen_addresses"]) == ("127.0.0.1", "127.0.0.1")


def test_nothing_of_it_stands_where_the_real_one_has_its_files() -> None:
    found = made()

    places = [found[name] for name in ("socket_dir", "pcp_socket_dir", "pid_file_name", "logdir", "memqcache_oiddir")]
    assert all(place.startswith("/tmp/lg/one") for place in places)
    assert (found["port"], found["pcp_port"]) == ("27001", "27002")


def test_what_is_measured_stays_as_it_is() -> None:
    found = made()

    for name in (
        "backend_hostname0", "backend_weight0", "backend_weight1", "memqcache_total_size",
        "cache_unsafe_memqcache_table_list", "statement_level_load_balance",
    ):  # fmt: skip
        assert found[name] == parse(REAL).values()[name]


@pytest.mark.parametrize(
    ("storage", "port", "expected"),
    [
        ("off", None, ("off", "shmem", None)),
        ("shmem", None, ("on", "shmem", None)),
        ("memcached", 27009, ("on", "memcached", "27009")),
    ],
)
def test_only_the_cache_differs(storage: str, port: int | None, expected: tuple[str, str, str | None]) -> None:
    found = made(storage, memcached_port=port)

    assert (
        found["memory_cache_enabled"], found["memqcache_method"], found.get("memqcache_memcached_port")
    ) == expected  # fmt: skip
    other = made("shmem")
    differing = {name for name in found if found[name] != other.get(name)}
    assert differing <= {
        "memory_cache_enabled", "memqcache_method", "memqcache_memcached_host", "memqcache_memcached_port"
    }  # fmt: skip


def test_the_load_signs_in_with_its_own_password_on_loopback() -> None:
    found = made()

    assert (found["enable_pool_hba"], found["pool_passwd"], found["ssl"]) == ("off", "", "off")
    assert found["allow_clear_text_frontend_auth"] == "on"
    assert [found[f"sr_check_{name}"] for name in ("user", "password", "database")] == ["app", "s3cret", "shop"]
    assert found["num_init_children"] == "12"


def test_a_file_or_an_account_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(ConfigSyntaxError):
        made(text="port = = 5\n")
    with pytest.raises(UnwritableValue, match="sr_check_password"):
        scratch_text(REAL, Scratch("off", 1, 2, "/tmp/x"), clients=1, account=Account("app", "it's", "shop"))

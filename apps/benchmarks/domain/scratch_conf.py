"""The configuration of a scratch pgpool: that of a real one, made harmless to the cluster, on this machine alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.pgpool_conf import PgpoolConf

SHMEM, MEMCACHED, OFF = "shmem", "memcached", "off"
LOOPBACK = "127.0.0.1"
# Neither may a scratch start a fail-over, nor take part in one, nor be heard by other pgpools.
_HARMLESS: Mapping[str, str] = {
    "use_watchdog": "off",
    "failover_command": "",
    "failback_command": "",
    "follow_primary_command": "",
    "failover_on_backend_error": "off",
    "auto_failback": "off",
    "health_check_period": "0",
    "recovery_1st_stage_command": "",
    "recovery_2nd_stage_command": "",
    "listen_addresses": LOOPBACK,
    "pcp_listen_addresses": LOOPBACK,
}
# Names of other versions, or of what is on by no default. pgpool passes over a name that it does not know.
_HARMLESS_WHERE_NAMED: Mapping[str, str] = {
    "follow_master_command": "",
    "failover_on_backend_shutdown": "off",
    "fail_over_on_backend_error": "off",
    "wd_escalation_command": "",
    "wd_de_escalation_command": "",
    "ssl": "off",
    "reserved_connections": "0",
    "logging_collector": "off",
    "process_management_mode": "static",
}
# Clients sign in with the password of the load, on loopback; pgpool passes it on to the backends.
_SIGN_IN: Mapping[str, str] = {
    "enable_pool_hba": "off",
    "pool_passwd": "",
    "allow_clear_text_frontend_auth": "on",
}
# Sessions of the load, and those that ask pgpool for its counters.
_MORE_CHILDREN = 4


@dataclass(frozen=True)
class Account:
    username: str
    password: str
    database: str


@dataclass(frozen=True)
class Scratch:
    """storage: where it caches, or OFF. folder: its own, with a short path: sockets stand in it.

    memcached_port: on this machine; None unless storage is memcached.
    """

    storage: str
    port: int
    pcp_port: int
    folder: str
    memcached_port: int | None = None


def scratch_text(text: str, scratch: Scratch, *, clients: int, account: Account) -> str:
    """text: the pgpool.conf of a real one. Weights, load balancing and the sizes of the cache stay as they are.

    Raises ConfigSyntaxError or IncludeUnsupported for a file that cannot be read, UnwritableValue for an account that
    cannot be written in one.
    """
    conf = pgpool_conf.parse(text)
    return conf.with_values(_values(conf, scratch, clients, account)).text


def _flag(named: Mapping[str, str], node_id: int) -> str:
    """Which backend is the primary is told by the file where replication does not tell it, as with managed services."""
    always = "ALWAYS_PRIMARY|" if "ALWAYS_PRIMARY" in named.get(f"backend_flag{node_id}", "") else ""
    return f"{always}DISALLOW_TO_FAILOVER"


def _values(conf: PgpoolConf, scratch: Scratch, clients: int, account: Account) -> dict[str, str | int]:
    named = conf.values()
    values: dict[str, str | int] = {**_HARMLESS, **_SIGN_IN}
    values |= {name: value for name, value in _HARMLESS_WHERE_NAMED.items() if name in named}
    values |= {f"backend_flag{node_id}": _flag(named, node_id) for node_id in conf.backend_node_ids()}
    values |= {name: "0" for name in named if name.startswith("health_check_period") and name[-1].isdigit()}
    values |= {
        "port": scratch.port,
        "pcp_port": scratch.pcp_port,
        "socket_dir": scratch.folder,
        "pcp_socket_dir": scratch.folder,
        "pid_file_name": f"{scratch.folder}/pgpool.pid",
        "logdir": scratch.folder,
        "log_destination": "stderr",
        "num_init_children": clients + _MORE_CHILDREN,
        "max_pool": 1,
        "sr_check_user": account.username,
        "sr_check_password": account.password,
        "sr_check_database": account.database,
        "memory_cache_enabled": "off" if scratch.storage == OFF else "on",
        "memqcache_method": MEMCACHED if scratch.storage == MEMCACHED else SHMEM,
        "memqcache_oiddir": f"{scratch.folder}/oid",
    }
    if scratch.memcached_port is not None:
        values |= {"memqcache_memcached_host": LOOPBACK, "memqcache_memcached_port": scratch.memcached_port}
    # An empty list of socket directories in the file would take the place of socket_dir.
    values |= {name: scratch.folder for name in ("unix_socket_directories",) if name in named}
    return values

"""The configuration files of the lab's Pgpool-II instances."""

import hashlib
import re
from pathlib import Path

from deploy.lab import failover, watchdog_settings
from deploy.lab.plan import Backend, Pgpool, Plan

HBA = """\
# TYPE  DATABASE  USER  ADDRESS       METHOD
host    all       all   127.0.0.1/32  scram-sha-256
"""
POOL_USERS = ("lifeguard", "pgpool_check", "app", "postgres")

HEAD = """\
# pgpool.conf of {name}, synthetic zone {az}
# Lifeguard's lab writes this file once; afterwards it belongs to whoever changes it.

# - Connections -
backend_clustering_mode = 'streaming_replication'
listen_addresses = '127.0.0.1'
port = {port}
{socket_parameter} = '{sockets}'
pcp_listen_addresses = '127.0.0.1'
pcp_port = {pcp_port}
pcp_socket_dir = '{sockets}'
ssl = off
enable_pool_hba = on
pool_passwd = 'pool_passwd'
authentication_timeout = 30s

# - Backends: the weights say who gets which share of the reads -
"""
BACKEND = """\
backend_hostname{n} = '127.0.0.1'
backend_port{n} = {port}
backend_weight{n} = {weight}                   # {name}
backend_flag{n} = 'ALLOW_TO_FAILOVER'
backend_application_name{n} = '{name}'
"""
TAIL = """\
# - Children: one client each -
num_init_children = {num_init_children}
max_pool = 1
child_life_time = 5min
connection_life_time = 0
client_idle_limit = 0

# - Load balancing -
load_balance_mode = on
statement_level_load_balance = off
disable_load_balance_on_write = 'transaction'
allow_sql_comments = off

# - Streaming replication check -
sr_check_period = {check_every}
sr_check_user = 'pgpool_check'
sr_check_password = '{check_password}'
sr_check_database = 'postgres'
delay_threshold = 2097152                 # bytes
prefer_lower_delay_standby = off

# - Health check -
health_check_period = {health_check_every}
health_check_timeout = 3
health_check_user = 'pgpool_check'
health_check_password = '{check_password}'
health_check_database = 'postgres'
health_check_max_retries = 1
health_check_retry_delay = 1
connect_timeout = 2000                    # ms

# - Failover: {failover_words} -
failover_command = '{failover_command}'
failover_on_backend_error = off
auto_failback = on
auto_failback_interval = 3
search_primary_node_timeout = 10

# - Query cache -
memory_cache_enabled = on
memqcache_method = 'shmem'
memqcache_total_size = 16777216
memqcache_max_num_cache = 20000
memqcache_expire = 30
memqcache_auto_cache_invalidation = on
memqcache_oiddir = '{folder}/oiddir'

# - Files and log -
pid_file_name = '{folder}/pgpool.pid'
{work_parameter} = '{folder}'
log_destination = 'stderr'
logging_collector = off
log_connections = off
log_min_messages = warning
"""


def pgpool_conf(pgpool: Pgpool, plan: Plan, *, sockets: Path, version: tuple[int, int, int]) -> str:
    promotes = plan.has_watchdog
    # Every check is a new connection to a backend: those of many pgpools would keep the machine busy.
    patience = max(1, len(plan.pgpools) // 4)
    values = {
        "check_every": patience,
        "health_check_every": 2 * patience,
        "failover_words": "the watchdog's leader promotes a standby" if promotes else "nobody is promoted here",
        "failover_command": failover.command(Path(pgpool.conf).parent.parent) if promotes else "",
        "name": pgpool.name,
        "az": pgpool.az,
        "num_init_children": plan.num_init_children,
        "check_password": plan.passwords["pgpool_check"],
        "work_parameter": "work_dir" if version >= (4, 7, 0) else "logdir",
        "port": pgpool.port,
        "pcp_port": pgpool.pcp_port,
        "socket_parameter": socket_parameter(version),
        "sockets": sockets,
        "folder": Path(pgpool.conf).parent,
    }
    weights = {backend.node_id: 500 if backend.node_id else 0 for backend in plan.backends}
    blocks = [_backend_block(backend, weights[backend.node_id]) for backend in plan.backends]
    watchdog = watchdog_settings.block(pgpool, plan, sockets=sockets, version=version)
    return HEAD.format(**values) + "\n".join(blocks) + "\n" + TAIL.format(**values) + watchdog


def _backend_block(backend: Backend, weight: int) -> str:
    return BACKEND.format(n=backend.node_id, port=backend.port, name=backend.name, weight=weight)


def socket_parameter(version: tuple[int, int, int]) -> str:
    """4.4 renamed it, and neither version says a word about a name that it does not know."""
    return "unix_socket_directories" if version >= (4, 4, 0) else "socket_dir"


def with_addresses(text: str, pgpool: Pgpool, plan: Plan) -> str:
    """An existing file, maybe edited since, with today's ports in place; everything else stays as it is."""
    values = {"port": pgpool.port, "pcp_port": pgpool.pcp_port}
    values |= {f"backend_port{backend.node_id}": backend.port for backend in plan.backends}
    values |= watchdog_settings.addresses(plan)
    for name, value in values.items():
        text = re.sub(rf"(?m)^(\s*{name}\s*=\s*)\S+", rf"\g<1>{value}", text)
    return text


def pcp_conf(plan: Plan) -> str:
    return f"lifeguard:{_md5(plan.passwords['pcp'])}\n"


def pool_passwd(plan: Plan) -> str:
    return "".join(f"{user}:TEXT{plan.passwords[user]}\n" for user in POOL_USERS)


def _md5(password: str) -> str:
    # The PCP protocol knows nothing better than this.
    return hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()

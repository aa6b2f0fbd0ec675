"""What the lab's pgpools need to watch each other: all on one loopback, without a virtual IP and so without root."""

from pathlib import Path

from deploy.lab.plan import Pgpool, Plan

OFF = "use_watchdog = off\n"
HEAD = """\

# - Watchdog -
use_watchdog = on
trusted_servers = ''
{delegate_parameter} = ''
wd_ipc_socket_dir = '{sockets}'
wd_priority = {priority}
wd_authkey = ''
wd_lifecheck_method = 'heartbeat'
wd_interval = 1
wd_heartbeat_keepalive = 1
wd_heartbeat_deadtime = 5
failover_when_quorum_exists = on
failover_require_consensus = on
"""
MEMBER = """\
hostname{n} = '127.0.0.1'
wd_port{n} = {wd_port}
pgpool_port{n} = {port}
heartbeat_hostname{n} = '127.0.0.1'
heartbeat_port{n} = {heartbeat_port}
heartbeat_device{n} = ''
"""


def block(pgpool: Pgpool, plan: Plan, *, sockets: Path, version: tuple[int, int, int]) -> str:
    if not plan.has_watchdog:
        return OFF
    head = HEAD.format(
        delegate_parameter="delegate_ip" if version >= (4, 4, 0) else "delegate_IP",
        sockets=sockets,
        priority=len(plan.pgpools) - number_of(pgpool, plan),
    )
    members = [
        MEMBER.format(n=n, wd_port=one.wd_port, port=one.port, heartbeat_port=one.heartbeat_port)
        for n, one in enumerate(plan.pgpools)
    ]
    return head + "".join(members)


def number_of(pgpool: Pgpool, plan: Plan) -> int:
    """Its pgpool_node_id."""
    return [one.name for one in plan.pgpools].index(pgpool.name)


def addresses(plan: Plan) -> dict[str, int]:
    """The parameters that hold ports, in case one of them was taken meanwhile."""
    found: dict[str, int] = {}
    for n, one in enumerate(plan.pgpools if plan.has_watchdog else ()):
        found |= {
            f"pgpool_port{n}": one.port,
            f"wd_port{n}": one.wd_port or 0,
            f"heartbeat_port{n}": one.heartbeat_port or 0,
        }
    return found

"""A standby becomes the primary: because the primary died, or because somebody wants it so."""

import time

import psycopg

from deploy.lab import failover, processes
from deploy.lab.lab import Lab
from deploy.lab.plan import Backend, UnknownServer

WITHIN_S = 60.0


class NotPromoted(RuntimeError):
    """No standby became the primary."""


def fail_over(lab: Lab) -> Backend:
    """The primary dies at once, and a standby is promoted. The dead one stays away until it is started."""
    old = lab.backends.primary
    lab.kill(old.name)
    return _await_promotion(lab, old)


def switch_over(lab: Lab, name: str) -> Backend:
    """The primary is stopped, the standby of this name is promoted, and the old primary comes back as its standby."""
    old, wanted = lab.backends.primary, lab.plan.server(name)
    if not isinstance(wanted, Backend) or wanted == old:
        raise UnknownServer(f"{name!r} is no standby")
    failover.wish_for(wanted, lab.backends.data, lab.account)
    lab.stop(old.name)
    new = _await_promotion(lab, old)
    lab.start(old.name)
    return new


def _await_promotion(lab: Lab, old: Backend) -> Backend:
    """Until every pgpool that runs uses the new one."""
    if not lab.plan.has_watchdog:
        _promote_for_them(lab, old)
    began = time.monotonic()
    while (new := lab.backends.primary) == old or not _is_used(lab, new):
        if time.monotonic() - began > WITHIN_S:
            said = lab.backends.data / "failover.log"
            text = said.read_text(encoding="utf-8") if said.exists() else "failover_command was not called"
            raise NotPromoted(f"no standby took over from {old.name} in {WITHIN_S:.0f} s: {text[-500:]}")
        time.sleep(0.2)
    return new


def _promote_for_them(lab: Lab, old: Backend) -> None:
    """Where no pgpool promotes, somebody else does, as Patroni would; the pgpools find out by themselves."""
    backends = lab.backends
    failover.write_script(backends.data, lab.plan, lab.binaries, lab.account)
    running = {server.name for server in lab.status() if server.state == "running"}
    first = next((one for one in backends.standbys if one.name in running), None)
    if first is None:
        raise NotPromoted("no standby runs that could be promoted")
    lost = str(old.node_id)
    script = ["/bin/sh", str(backends.data / "failover.sh"), lost, lost, str(first.node_id)]
    lab.account.run(script, env=processes.ENV, cwd=backends.data)


def _is_used(lab: Lab, primary: Backend) -> bool:
    running = {server.name for server in lab.status() if server.state == "running"}
    try:
        views = [lab.pgpools.nodes(pgpool) for pgpool in lab.plan.pgpools if pgpool.name in running]
    except psycopg.Error:
        return False  # it is failing over and cuts its sessions
    return all(view[primary.node_id]["role"] == "primary" for view in views)

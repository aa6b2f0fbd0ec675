"""What runs in the demo beside the lab, as supervisor's configuration."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from deploy.demo.place import DEFAULT_ROOT, MARK, Place

CLONE = DEFAULT_ROOT.parent
WAITS_FOR_SETTINGS = 'until [ -e "$0" ]; do sleep 0.1; done; . "$0"; exec "$@"'


@dataclass(frozen=True)
class Program:
    name: str
    command: Sequence[str]
    order: int  # the lowest starts first and stops last
    stop_signal: str = "TERM"
    stop_patience_s: int = 10
    needs_settings: bool = True


def celery(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "celery", "--app", "controlplane", "--quiet", *arguments]


def worker(queue: str, *, slots: int) -> Program:
    # QUIT ends a task at once: what it did not finish is still a row, and the next worker goes on from there.
    command = celery(
        "worker", f"--queues={queue}", f"--hostname={queue}@%h", f"--concurrency={slots}",
        "--loglevel=INFO", "--without-gossip", "--without-mingle", "--without-heartbeat",
    )  # fmt: skip
    return Program(f"worker-{queue}", command, order=300, stop_signal="QUIT")


def programs(place: Place, *, postgres: Sequence[str], redis: Sequence[str], web_port: int) -> list[Program]:
    web = [
        sys.executable, "-m", "uvicorn", "controlplane.asgi:application", "--host=127.0.0.1", f"--port={web_port}",
        "--lifespan=off", "--no-access-log", "--no-proxy-headers", "--log-level=info", "--timeout-graceful-shutdown=2",
    ]  # fmt: skip
    beat = celery("beat", f"--schedule={place.directory / 'beat'}", "--pidfile=", "--loglevel=WARNING")
    load = [sys.executable, "-m", "deploy.lab.load", "--root", str(place.lab)]
    return [
        Program("postgres", postgres, order=10, stop_signal="INT", stop_patience_s=30, needs_settings=False),
        Program("redis", redis, order=20, needs_settings=False),
        Program("web", web, order=200),
        worker("poll", slots=2),
        worker("rollout", slots=2),
        worker("default", slots=1),
        worker("bench", slots=1),
        Program("beat", beat, order=400),
        Program("load", load, order=500),
    ]


def bouncer(place: Place, command: Sequence[str]) -> Program:
    """It waits for the lab, and gets none of Lifeguard's settings: it runs as the account of the lab's servers."""
    return Program("pgbouncer", ["env", "-i", f"{MARK}={place.directory}", *command], order=600)


def supervisor_text(value: str) -> str:
    return value.replace("%", "%%")


def section(program: Program, place: Place) -> str:
    command = list(program.command)
    if program.needs_settings:
        command = ["/bin/sh", "-c", WAITS_FOR_SETTINGS, str(place.environment), *command]
    return f"""
[program:{program.name}]
command={supervisor_text(shlex.join(command))}
directory={supervisor_text(str(CLONE))}
priority={program.order}
autorestart=true
startsecs=1
startretries=1000
stopsignal={program.stop_signal}
stopwaitsecs={program.stop_patience_s}
stopasgroup={"true" if program.needs_settings else "false"}
killasgroup=true
redirect_stderr=true
stdout_logfile={supervisor_text(str(place.logs / f"{program.name}.log"))}
stdout_logfile_maxbytes=5MB
stdout_logfile_backups=1
"""


def supervisor_configuration(place: Place, wanted: Sequence[Program], *, is_root: bool) -> str:
    user = "user=root\n" if is_root else ""
    head = f"""[supervisord]
nodaemon=true
silent=true
{user}logfile={supervisor_text(str(place.logs / "supervisor.log"))}
logfile_maxbytes=5MB
logfile_backups=1
pidfile={supervisor_text(str(place.directory / "supervisor.pid"))}
"""
    return head + "".join(section(program, place) for program in wanted)

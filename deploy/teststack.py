"""Runs a command beside a PostgreSQL and a Redis of its own: `python -m deploy.teststack run -- pytest …`.

Every run has its own folder, ports and passwords, so several may go on at once. The servers end with the run, also when
it is killed; what a killed run leaves on disk is removed by the next one.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography.fernet import Fernet

from deploy import machine, processes
from deploy.own_servers import OwnPostgres, OwnRedis, ServerDidNotStart

CLONE = Path(__file__).resolve().parent.parent
RUNS = CLONE / ".lifeguard" / "test"
UNREACHABLE_PORT = 1


def remove_leftovers(runs: Path) -> None:
    """Folders of runs whose process is gone. Their servers are gone too: the kernel ends them with the run."""
    for run in runs.iterdir() if runs.is_dir() else ():
        try:
            owner = processes.Process(**json.loads((run / "owner.json").read_text()))
        except (OSError, ValueError, TypeError):
            continue  # just being made, or not ours
        if not owner.is_alive:
            remove_run(run)


def remove_run(run: Path) -> None:
    machine.remove_server_directory(run / "postgres")
    machine.remove_server_directory(run)


@contextmanager
def run_directory(runs: Path) -> Iterator[Path]:
    runs.mkdir(parents=True, exist_ok=True)
    remove_leftovers(runs)
    run = runs / f"{os.getpid()}-{secrets.token_hex(4)}"
    run.mkdir(mode=0o711)
    owner = processes.process(os.getpid())
    if owner is None:
        raise RuntimeError("/proc does not show this process")
    (run / "owner.json").write_text(json.dumps({"pid": owner.pid, "started": owner.started}))
    try:
        yield run
    finally:
        remove_run(run)


@contextmanager
def running(command: Sequence[str], *, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a session of its own, so that Ctrl-C reaches the tests first and not their database."""
    with log.open("ab") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", start_new_session=True
        )
    try:
        yield server
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def environment(*, postgres_url: str, redis_url: str, delivery: Path) -> dict[str, str]:
    return {
        "LIFEGUARD_SECRET_KEY": secrets.token_urlsafe(48),
        "LIFEGUARD_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "LIFEGUARD_DATABASE_URL": postgres_url,
        "LIFEGUARD_REDIS_URL": redis_url,
        "LIFEGUARD_ALLOWED_HOSTS": "127.0.0.1,localhost,testserver",
        "LIFEGUARD_DEBUG": "0",
        "LIFEGUARD_LOCAL_DELIVERY_DIRS": str(delivery),
        "LIFEGUARD_PUBLIC_URL": "http://127.0.0.1:8000",
        "LIFEGUARD_POLL_SHARDS": "1",
    }


def start_servers(run: Path, stack: ExitStack) -> tuple[OwnPostgres, OwnRedis]:
    """Both at once; a port that somebody took between the look and the start is replaced."""
    for attempt in range(3):
        ports = [machine.free_port()]
        ports.append(machine.free_port(taken=ports))
        postgres = OwnPostgres(run / "postgres", ports[0], secrets.token_urlsafe(16), is_durable=False)
        redis = OwnRedis(run / "redis", ports[1], secrets.token_urlsafe(16))
        machine.remove_server_directory(run / "postgres")
        servers = ExitStack()
        try:
            redis.prepare()
            servers.enter_context(running(redis.command(ends_with_parent=True), log=run / "redis.log"))
            postgres.prepare()
            servers.enter_context(running(postgres.command(ends_with_parent=True), log=run / "postgres.log"))
            postgres.wait_until_it_answers(deadline_s=60 if attempt == 2 else 20)
            redis.wait_until_it_answers(deadline_s=20 if attempt == 2 else 5)
        except ServerDidNotStart:
            servers.close()
            if attempt == 2:
                raise
            continue
        stack.push(servers)
        return postgres, redis
    raise AssertionError("unreachable")


def run(command: Sequence[str], *, with_servers: bool) -> int:
    with ExitStack() as stack:
        directory = stack.enter_context(run_directory(RUNS))
        delivery = directory / "delivery"
        delivery.mkdir()
        if with_servers:
            postgres, redis = start_servers(directory, stack)
            settings = environment(postgres_url=postgres.url, redis_url=redis.url, delivery=delivery)
        else:
            settings = environment(
                postgres_url=f"postgresql://nobody:none@127.0.0.1:{UNREACHABLE_PORT}/none",
                redis_url=f"redis://127.0.0.1:{UNREACHABLE_PORT}/0",
                delivery=delivery,
            )
        # Unbuffered: what a program prints is seen at once, also through a pipe.
        tests = subprocess.Popen(command, env={**os.environ, **settings, "PYTHONUNBUFFERED": "1"})
        return wait_for(tests)


def wait_for(tests: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            code = tests.wait()
        except KeyboardInterrupt:
            continue  # the terminal told the tests as well; they end by themselves
        except SystemExit:
            tests.terminate()
            tests.wait()
            raise
        return code if code >= 0 else 128 - code


def end_on_term(_signal_number: int, _frame: object) -> None:
    raise SystemExit(143)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.teststack", description=__doc__)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run", help="run a command with the LIFEGUARD_ settings of a stack of its own")
    runner.add_argument("--no-servers", action="store_true", help="settings only, for tests that need no database")
    runner.add_argument("command", nargs="+", help="after --")
    choice = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, end_on_term)
    return run(choice.command, with_servers=not choice.no_servers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

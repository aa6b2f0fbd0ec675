"""Runs a command beside a PostgreSQL and a Redis of its own: `python -m deploy.teststack run -- pytest …`.

Every run has its own folder, ports and passwords, so several may go on at once. The servers end with the run, also when
it is killed; whatever else a killed run leaves, processes and files, is ended and removed by the next one.
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
# Every process of a run carries this: its own number and start time, by which a later run sees that it is gone.
MARK = "LIFEGUARD_TEST_RUN"
# The folder of a run that has servers: whoever needs another one puts its files there.
FOLDER = "LIFEGUARD_TEST_FOLDER"


def mark_of(owner: processes.Process) -> str:
    return f"{owner.pid} {owner.started}"


def owner_in(mark: str) -> processes.Process | None:
    """None for text that none of our runs wrote."""
    numbers = mark.split()
    if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    return processes.Process(pid=int(numbers[0]), started=int(numbers[1]))


def end_orphans() -> None:
    """All that was started in a test run, of this clone or another, whose own process is gone."""
    for mark in processes.by_environment(MARK):
        owner = owner_in(mark)
        if owner is not None and not owner.is_alive:
            end_marked(mark)


def end_marked(mark: str) -> None:
    """Twice, should one of them have started another meanwhile. PostgreSQL takes TERM for `wait for all clients`."""
    for _ in range(2):
        found = processes.by_environment(MARK).get(mark, [])
        others = [known for known in found if known.pid != os.getpid()]
        processes.end(others, with_signal=signal.SIGINT, grace_s=8)


def remove_leftovers(runs: Path) -> None:
    """Folders of runs whose process is gone."""
    for run in runs.iterdir() if runs.is_dir() else ():
        try:
            owner = processes.Process(**json.loads((run / "owner.json").read_text()))
        except (OSError, ValueError, TypeError):
            continue  # just being made, or not ours
        if not owner.is_alive:
            remove_run(run)


def remove_run(run: Path) -> None:
    OwnPostgres(run / "postgres", 0, "", is_durable=False).forget()
    machine.remove_server_directory(run)


def this_process() -> processes.Process:
    known = processes.process(os.getpid())
    if known is None:
        raise RuntimeError("/proc does not show this process")
    return known


@contextmanager
def run_directory(runs: Path) -> Iterator[Path]:
    runs.mkdir(parents=True, exist_ok=True)
    end_orphans()
    remove_leftovers(runs)
    run = runs / f"{os.getpid()}-{secrets.token_hex(4)}"
    run.mkdir(mode=0o711)
    owner = this_process()
    (run / "owner.json").write_text(json.dumps({"pid": owner.pid, "started": owner.started}))
    try:
        yield run
    finally:
        end_marked(mark_of(owner))
        remove_run(run)


@contextmanager
def running(command: Sequence[str], *, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a session of its own, so that Ctrl-C reaches the tests first and not their database."""
    with log.open("ab") as output:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            start_new_session=True,
            env={**os.environ, MARK: mark_of(this_process())},
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
        "LIFEGUARD_FILES_EVERY_S": "30",
        "LIFEGUARD_POLL_SHARDS": "1",
        MARK: mark_of(this_process()),
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
            settings[FOLDER] = str(directory)
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

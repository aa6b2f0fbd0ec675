"""Brings the demo up and down again, in order, and says on the way what takes long."""

import fcntl
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from deploy import machine
from deploy.demo import dashboard, keeping, place, programs
from deploy.demo.place import Place, Settings
from deploy.lab import Lab, bouncer
from deploy.lab.bouncer import Bouncer
from deploy.own_servers import OwnPostgres, OwnRedis

PGPOOL_COUNT = 3
# For measuring with many: how many, each with few children, and no reads but those that measure.
PGPOOLS_WANTED = "LIFEGUARD_DEMO_PGPOOLS"
CHILDREN_OF_MANY = 6


class RunsElsewhere(RuntimeError):
    """The demo runs already, on another port than LIFEGUARD_PORT asks for."""

    def __init__(self, port: int, wanted: int) -> None:
        there, way_out = f"on port {port}", f"make down; LIFEGUARD_PORT={wanted} make demo"
        super().__init__(f"the demo runs already, {there}. To move it: {way_out}")


def refuse_to_move(where: Place, *, environ: Mapping[str, str] = os.environ) -> None:
    """Before anything is touched: a wish for another port must not stop what runs."""
    wanted, settings = place.wanted_web_port(environ), place.load(where)
    if wanted is None or settings is None or wanted == settings.web_port:
        return
    if keeping.keeper_of(where.directory) is not None:
        raise RunsElsewhere(settings.web_port, wanted)


@contextmanager
def one_at_a_time(where: Place) -> Iterator[None]:
    where.root.mkdir(parents=True, exist_ok=True)
    with where.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def told(what: str) -> Iterator[None]:
    begun = time.monotonic()
    print(f"  {what} …", flush=True)
    yield
    print(f"  {what}: {time.monotonic() - begun:.1f} s", flush=True)


def lab_of(where: Place, *, environ: Mapping[str, str] = os.environ) -> Lab:
    wanted = int(environ.get(PGPOOLS_WANTED) or PGPOOL_COUNT)
    if wanted <= PGPOOL_COUNT:
        return Lab(where.lab, pgpool_count=wanted)
    return Lab(where.lab, pgpool_count=wanted, num_init_children=CHILDREN_OF_MANY)


def own_servers(where: Place, settings: Settings) -> tuple[OwnPostgres, OwnRedis]:
    postgres = OwnPostgres(where.directory / "postgres", settings.postgres_port, settings.postgres_password, True)
    return postgres, OwnRedis(where.directory / "redis", settings.redis_port, settings.redis_password)


def bouncer_of(where: Place, settings: Settings) -> Bouncer | None:
    """Before the primary, for comparisons with it; none where it is not installed, and none beside many pgpools."""
    if PGPOOLS_WANTED in os.environ or not (settings.bouncer_port and bouncer.is_installed()):
        return None
    return Bouncer(where.bouncer, settings.bouncer_port)


def web_address(settings: Settings) -> str:
    return f"http://127.0.0.1:{settings.web_port}"


def lifeguard_environment(where: Place, settings: Settings, lab: dict[str, Any]) -> dict[str, str]:
    postgres, redis = own_servers(where, settings)
    directories = [f"{dashboard.ORGANISATION}={os.path.dirname(pgpool['conf'])}" for pgpool in lab["pgpools"]]  # noqa: PTH120
    return {
        "LIFEGUARD_SECRET_KEY": settings.secret_key,
        "LIFEGUARD_ENCRYPTION_KEYS": settings.encryption_key,
        "LIFEGUARD_DATABASE_URL": postgres.url,
        "LIFEGUARD_REDIS_URL": redis.url,
        "LIFEGUARD_ALLOWED_HOSTS": "127.0.0.1,localhost",
        "LIFEGUARD_DEBUG": "0",
        "LIFEGUARD_LOCAL_DELIVERY_DIRS": ":".join(dict.fromkeys(directories)),
        "LIFEGUARD_RESTART_COMMANDS": restart_command(where),
        "LIFEGUARD_PUBLIC_URL": web_address(settings),
        "LIFEGUARD_FILES_EVERY_S": os.environ.get("LIFEGUARD_FILES_EVERY_S", "30"),
        "LIFEGUARD_POLL_SHARDS": "1",
    }


def restart_command(where: Place) -> str:
    words = [sys.executable, "-m", "deploy.lab", "restart", "--root", str(where.lab.absolute()), "{path}"]
    return f"{dashboard.ORGANISATION}/{dashboard.RESTART}={shlex.join(words)}"


def up(where: Place) -> dict[str, Any]:
    """Start what does not run. Returns what demo.json says, with a fresh one-time sign-in link."""
    with one_at_a_time(where):
        return announce(where, running_settings(where) or start(where))


def running_settings(where: Place) -> Settings | None:
    """Settings of the demo that runs already and answers; one that does not answer any more is stopped."""
    settings = place.load(where)
    if settings is None or keeping.keeper_of(where.directory) is None:
        return None
    try:
        with told("the demo is running already; looking whether all of it does"):
            dashboard.wait_until_it_answers(web_address(settings), deadline_s=20)
            lab_of(where).repair()
    except RuntimeError as error:
        print(f"  it does not: {error}. Starting anew.", flush=True)
        stop_everything(where)
        return None
    return settings


def start(where: Place) -> Settings:
    try:
        return start_all(where)
    except BaseException:
        # Half a demo helps nobody. Ctrl-C comes here too.
        stop_everything(where)
        raise


def start_all(where: Place) -> Settings:
    with told("what an earlier demo left behind"):
        keeping.end_leftovers(where)
    where.directory.mkdir(exist_ok=True)
    keeping.note_keeper(where, os.getpid())
    where.environment.unlink(missing_ok=True)
    settings = place.choose(where)
    postgres, redis = own_servers(where, settings)
    with ThreadPoolExecutor(max_workers=1) as pool:
        lab = lab_of(where)
        lab_is_up = pool.submit(lab.up)
        with told("Lifeguard's own PostgreSQL and Redis"):
            postgres.prepare()
            redis.prepare()
            start_keeper(where, settings)
            postgres.wait_until_it_answers()
            redis.wait_until_it_answers()
        with told("a PostgreSQL primary, two standbys and three Pgpool-II"):
            lab_is_up.result()
            keeper = keeping.keeper_of(where.directory)
            if keeper is not None:
                lab.belongs_to(keeper.pid)
    if (pooler := bouncer_of(where, settings)) is not None:
        pooler.prepare(lab.backends.primary, lab.addresses["app"])
    environment = lifeguard_environment(where, settings, lab.addresses)
    with told("tables of Lifeguard"):
        full = {**os.environ, **environment}
        dashboard.manage("migrate", "--no-input", "--verbosity=0", environment=full)
        dashboard.manage("check", "--database=default", environment=full)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    place.write_privately(where.environment, exports)
    with told("dashboard, workers and a gentle read load"):
        dashboard.wait_until_it_answers(web_address(settings), deadline_s=120)
    return settings


def start_keeper(where: Place, settings: Settings) -> None:
    postgres, redis = own_servers(where, settings)
    wanted = programs.programs(where, postgres=postgres.command(), redis=redis.command(), web_port=settings.web_port)
    if PGPOOLS_WANTED in os.environ:
        wanted = [each for each in wanted if each.name != "load"]
    if (pooler := bouncer_of(where, settings)) is not None:
        wanted.append(programs.bouncer(where, pooler.command()))
    keeping.start(where, programs.supervisor_configuration(where, wanted, is_root=os.geteuid() == 0))


def announce(where: Place, settings: Settings) -> dict[str, Any]:
    """Accounts, the registered cluster, demo.json."""
    url, lab = web_address(settings), lab_of(where).addresses
    environment = {**os.environ, **lifeguard_environment(where, settings, lab)}
    account = dashboard.account(password=settings.password, known_token=settings.api_token, environment=environment)
    if account["api_token"] != settings.api_token:
        settings = replace(settings, api_token=account["api_token"])
        place.save(where, settings)
    with told("the cluster, registered as the form does it"):
        dashboard.register_lab(url, token=settings.api_token, lab=lab)
        dashboard.allow_benchmarks(url, token=settings.api_token, app=lab["app"])
    if bouncer_of(where, settings) is not None:
        dashboard.register_bouncer(url, token=settings.api_token, port=settings.bouncer_port)
    announcement = {
        "url": url,
        "email": dashboard.EMAIL,
        "password": settings.password,
        "api_token": settings.api_token,
        "cluster": dashboard.CLUSTER,
        "organisation": dashboard.ORGANISATION,
        "pgpool_ports": [pgpool["port"] for pgpool in lab["pgpools"]],
        "backend_ports": [backend["port"] for backend in lab["backends"]],
        "lab": str(where.lab),
    }
    place.write_privately(where.announcement, json.dumps(announcement, indent=1) + "\n")
    return {**announcement, "sign_in_url": f"{url}{account['sign_in_path']}"}


def stop_everything(where: Place) -> None:
    keeping.stop(where)
    lab_of(where).down()
    keeping.end_marked(str(where.directory))
    where.environment.unlink(missing_ok=True)


def is_there(where: Place) -> bool:
    return where.directory.exists()


def down(where: Place) -> None:
    with one_at_a_time(where):
        if is_there(where):
            stop_everything(where)


def reset(where: Place) -> None:
    """Down, and forget: data, secrets, ports."""
    with one_at_a_time(where):
        if is_there(where):
            stop_everything(where)
            lab_of(where).forget()
            OwnPostgres(where.directory / "postgres", 0, "", is_durable=True).forget()
            machine.remove_server_directory(where.bouncer)
            shutil.rmtree(where.directory)
        where.announcement.unlink(missing_ok=True)

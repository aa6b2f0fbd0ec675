"""Speaks to the running dashboard as any script would: over HTTP, with an API token."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deploy.demo.programs import CLONE
from deploy.lab.bouncer import MOST_CLIENTS
from deploy.lab.bouncer import NAME as BOUNCER

ORGANISATION, CLUSTER, EMAIL = "demo", "orders", "demo@lifeguard.example"
# The command that restarts a pgpool of the lab.
RESTART = "lab"


class DashboardSilent(RuntimeError):
    """The dashboard did not answer in time."""


class Refused(RuntimeError):
    """The dashboard or one of its commands refused what the demo asked of it."""


@dataclass(frozen=True)
class Answer:
    status: int
    content: Any


def ask(url: str, *, token: str = "", body: Mapping[str, Any] | None = None, method: str | None = None) -> Answer:
    """A refusal is an answer too. Raises OSError when nobody answers."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=content, headers=headers, method=method)  # noqa: S310  always http://127.0.0.1
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return Answer(answer.status, _content(answer.read()))
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Answer(refusal.code, _content(refusal.read()))


def _content(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode(errors="replace")[:500]


def is_answering(url: str) -> bool:
    try:
        return ask(f"{url}/healthz").status == 200 and ask(f"{url}/readyz").status == 200
    except (OSError, urllib.error.URLError):
        return False


def wait_until_it_answers(url: str, *, deadline_s: float) -> None:
    ends_at = time.monotonic() + deadline_s
    while not is_answering(url):
        if time.monotonic() > ends_at:
            raise DashboardSilent(f"{url} did not answer within {deadline_s:.0f} s")
        time.sleep(0.1)


def manage(*arguments: str, environment: Mapping[str, str], stdin: str = "") -> str:
    """Run one command of manage.py and return what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CLONE, env=dict(environment), input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Refused(f"manage.py {arguments[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def account(*, password: str, known_token: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Make sure the demo's people exist. Returns api_token (the known one while it is good) and sign_in_path."""
    wanted = {
        "organisation": ORGANISATION,
        "email": EMAIL,
        "password": password,
        "api_token": known_token,
    }
    answer: dict[str, str] = json.loads(manage("create_demo", environment=environment, stdin=json.dumps(wanted)))
    return answer


def cluster_description(lab: Mapping[str, Any], *, restart: str = "") -> dict[str, Any]:
    """The lab as the registration form takes it. restart: the command that restarts its pgpools; empty: by hand."""
    return {
        "name": "Orders",
        "slug": CLUSTER,
        "username": lab["monitor"]["username"],
        "password": lab["monitor"]["password"],
        # Loopback has no zones: these are made up, and the pages say so.
        "has_synthetic_azs": True,
        "pgpools": [
            {
                "name": pgpool["name"],
                "host": pgpool["host"],
                "port": pgpool["port"],
                "az": pgpool["az"],
                "pcp": {
                    "port": pgpool["pcp_port"],
                    "user": lab["pcp"]["username"],
                    "password": lab["pcp"]["password"],
                },
                "delivery": {"kind": "local", "path": pgpool["conf"], **({"restart": restart} if restart else {})},
            }
            for pgpool in lab["pgpools"]
        ],
        "backends": [{key: backend[key] for key in ("node_id", "host", "port", "az")} for backend in lab["backends"]],
    }


def registered_ports(content: Mapping[str, Any]) -> set[int]:
    return {int(pgpool["port"]) for pgpool in content.get("pgpools", [])}


def register_lab(url: str, *, token: str, lab: Mapping[str, Any]) -> None:
    """Register the lab unless it is registered; one whose ports had to change meanwhile is registered anew."""
    api = f"{url}/api/v1/clusters/"
    known = ask(f"{api}{CLUSTER}/", token=token)
    if known.status == 200:
        if registered_ports(known.content) == {pgpool["port"] for pgpool in lab["pgpools"]}:
            return
        removed = ask(f"{api}{CLUSTER}/", token=token, method="DELETE")
        if removed.status != 204:
            raise Refused(f"the demo's cluster has other ports now and could not be removed: {removed.content}")
    elif known.status != 404:
        raise Refused(f"the dashboard answered {known.status} for its own cluster: {known.content}")
    created = ask(api, token=token, body=cluster_description(lab, restart=RESTART))
    if created.status != 201:
        raise Refused(f"the lab could not be registered: {created.status} {created.content}")


def allow_benchmarks(url: str, *, token: str, app: Mapping[str, str]) -> None:
    """As the lab's applications sign in. Whoever has said anything else since then is left alone."""
    address = f"{url}/api/v1/clusters/{CLUSTER}/benchmarks/"
    known = ask(address, token=token)
    if known.status == 200 and known.content["access"] is None:
        known = ask(address, token=token, body={"is_on": True, **app}, method="PUT")
    if known.status != 200:
        raise Refused(f"benchmarks could not be allowed on the lab: {known.status} {known.content}")


def register_bouncer(url: str, *, token: str, port: int) -> None:
    """The PgBouncer before the primary, as an endpoint that benchmarks can go through; its port may have changed."""
    address = f"{url}/api/v1/clusters/{CLUSTER}/endpoints/"
    facts = {"host": "127.0.0.1", "port": port, "kind": "pooler", "most_sessions": MOST_CLIENTS}
    answer = ask(f"{address}{BOUNCER}/", token=token, body=facts, method="PATCH")
    if answer.status == 404:
        answer = ask(address, token=token, body={"name": BOUNCER, **facts})
    if answer.status not in {200, 201}:
        raise Refused(f"the PgBouncer of the lab could not be registered: {answer.status} {answer.content}")

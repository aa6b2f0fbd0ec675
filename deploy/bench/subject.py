"""The demo that is measured: its REST interface, its lab, its processes."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy import processes
from deploy.demo import dashboard, keeping
from deploy.demo.place import Place
from deploy.lab import Lab
from deploy.processes import Process


class CannotMeasure(RuntimeError):
    """The demo is not in a state that can be measured."""


@dataclass(frozen=True)
class Subject:
    place: Place
    lab: Lab
    url: str
    token: str
    cluster: str

    def ask(self, path: str, *, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
        """The content of an answer of 2xx."""
        answer = dashboard.ask(f"{self.url}/api/v1/{path}", token=self.token, body=body, method=method)
        if not 200 <= answer.status < 300:
            raise CannotMeasure(f"{method or 'GET'} {path} was answered {answer.status}: {answer.content}")
        return answer.content

    def ask_cluster(self, path: str = "", *, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
        return self.ask(f"clusters/{self.cluster}/{path}", body=body, method=method)

    @property
    def keeper(self) -> Process:
        """The parent of all that is Lifeguard's own; the lab's servers are not among its children."""
        keeper = keeping.keeper_of(self.place.directory)
        if keeper is None:
            raise CannotMeasure("the demo does not run: make demo-up")
        return keeper

    def program(self, *words: str) -> list[Process]:
        """The demo's processes whose command line holds all these words, and their children."""
        found = [
            known for known in processes.descendants(self.keeper.pid) if set(words) <= set(_command_line(known.pid))
        ]
        if not found:
            raise CannotMeasure(f"no process of the demo runs {' '.join(words)}")
        return list({known.pid: known for one in found for known in (one, *processes.descendants(one.pid))}.values())


def _command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []


def running_demo(place: Place) -> Subject:
    try:
        said = json.loads(place.announcement.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CannotMeasure("there is no demo here: make demo-up") from None
    if not dashboard.is_answering(said["url"]):
        raise CannotMeasure(f"{said['url']} does not answer: make demo-up")
    return Subject(place, Lab(place.lab), said["url"], said["api_token"], said["cluster"])


def seconds_until(is_so: Callable[[], bool], what: str, *, within_s: float, every_s: float = 0.05) -> float:
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > within_s:
            raise CannotMeasure(f"not within {within_s:.0f} s: {what}")
        time.sleep(every_s)
    return time.monotonic() - begun

"""`python -m deploy.screenshots`: take the pages of the running demo, light, dark and narrow, for the README."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from deploy import machine
from deploy.demo.dashboard import ask
from deploy.demo.place import DEFAULT_ROOT, Place

TARGET = DEFAULT_ROOT.parent / "docs" / "screenshots"
# Long enough for the charts to be drawn and the first push to arrive.
SETTLES_MS = 4_000


class Look(NamedTuple):
    name: str
    theme: Literal["light", "dark"]
    width: int
    height: int


# What a screen shows, and not the whole page: there the side bar or the bottom bar would end in the middle.
LOOKS = (Look("light", "light", 1440, 1100), Look("dark", "dark", 1440, 1100), Look("narrow", "light", 390, 844))


def pages(demo: dict[str, Any]) -> dict[str, str]:
    """Page name -> path; the rollout is the newest one, if there was any."""
    organisation, cluster = demo["organisation"], demo["cluster"]
    found = {
        "fleet": f"/o/{organisation}/",
        # The shortest window: a demo is young.
        "cluster": f"/o/{organisation}/clusters/{cluster}/?window=300",
        "weights": f"/o/{organisation}/clusters/{cluster}/weights/?weight_0=0&weight_1=1&weight_2=3",
        "configuration": f"/o/{organisation}/clusters/{cluster}/configuration/",
        "register": f"/o/{organisation}/clusters/register/",
    }
    rollouts = ask(f"{demo['url']}/api/v1/clusters/{cluster}/rollouts/", token=demo["api_token"])
    newest = rollouts.content["results"][0]["id"] if rollouts.status == 200 and rollouts.content["results"] else None
    if newest is not None:
        found["rollout"] = f"/o/{organisation}/rollouts/{newest}/"
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    # Root has no sandbox, and a container's /dev/shm is too small for a page with charts.
    arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=machine.program("chromium"), args=arguments)
        try:
            yield running
        finally:
            running.close()


def sign_in(page: Page, demo: dict[str, Any]) -> None:
    page.goto(f"{demo['url']}/accounts/login/")
    page.fill("input[name=login]", demo["email"])
    page.fill("input[name=password]", demo["password"])
    page.click("main button[type=submit]")
    page.wait_for_url(lambda url: "/accounts/login" not in url)


def take(demo: dict[str, Any], target: Path) -> list[Path]:
    target.mkdir(parents=True, exist_ok=True)
    taken = []
    with browser() as running:
        for look in LOOKS:
            context = running.new_context(
                viewport={"width": look.width, "height": look.height}, color_scheme=look.theme, reduced_motion="reduce"
            )
            page = context.new_page()
            sign_in(page, demo)
            for name, path in pages(demo).items():
                page.goto(f"{demo['url']}{path}")
                page.wait_for_timeout(SETTLES_MS)
                file = target / f"{name}-{look.name}.png"
                page.screenshot(path=file)
                taken.append(file)
            context.close()
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.screenshots", description=__doc__)
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT, help="where the demo keeps its files")
    announcement = Place(parser.parse_args().root.absolute()).announcement
    if not announcement.exists():
        print("The demo does not run. Start it with: make demo-up", file=sys.stderr)
        return 1
    for file in take(json.loads(announcement.read_text()), TARGET):
        print(file.relative_to(DEFAULT_ROOT.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())

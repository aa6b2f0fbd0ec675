"""`make screenshots`: the pages of the running demo, light, dark and narrow, into docs/screenshots/.

The demo must have run for some minutes, so that the charts have something to show. Every figure is what was measured
there: nothing is drawn.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

TREE = Path(__file__).resolve().parent.parent
TARGET = TREE / "docs" / "screenshots"
CHROMIUM = "/usr/bin/chromium"
# Debian's Chromium as root, and without the look-ups that it makes at every start.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True)
class Look:
    name: str
    width: int
    height: int
    scheme: str


LOOKS = (Look("light", 1440, 1000, "light"), Look("dark", 1440, 1000, "dark"), Look("narrow", 390, 844, "light"))


def pages(demo: dict[str, Any]) -> dict[str, str]:
    """Name of the picture -> path of the page."""
    organisation = f"/o/{demo.get('organisation', 'demo')}"
    cluster = f"{organisation}/clusters/{demo['cluster']}"
    return {
        "fleet": f"{organisation}/",
        "cluster": f"{cluster}/",
        "weights": f"{cluster}/weights/",
        "history": f"{cluster}/history/",
        "events": f"{cluster}/events/",
        "settings": f"{cluster}/settings/",
        "register": f"{organisation}/clusters/register/",
    }


@contextmanager
def signed_in(browser: Browser, demo: dict[str, Any], look: Look) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme="dark" if look.scheme == "dark" else "light",
        base_url=demo["url"],
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto("/accounts/login/")
    page.fill("input[name=login]", demo["email"])
    page.fill("input[name=password]", demo["password"])
    page.click("main button[type=submit], form button[type=submit]")
    page.wait_for_url("**/o/**")
    yield page
    context.close()


def take(page: Page, path: str, target: Path) -> None:
    page.goto(path)
    page.wait_for_load_state("load")
    page.wait_for_function("[...document.querySelectorAll('time-series-chart')].every(c => c.ariaBusy !== 'true')")
    page.wait_for_timeout(700)
    page.screenshot(path=target, full_page=True)
    print(f"  {target.relative_to(TREE)}", flush=True)


def latest_rollout(page: Page, demo: dict[str, Any]) -> str | None:
    """The address of the latest rollout's page, if there was one."""
    page.goto(f"/o/{demo.get('organisation', 'demo')}/rollouts/")
    link = page.locator("table a[href*='/rollouts/']").first
    return link.get_attribute("href") if link.count() else None


def main() -> int:
    described = TREE / ".lifeguard" / "demo.json"
    if not described.exists():
        print("The demo does not run: `make demo-up` first.", file=sys.stderr)
        return 1
    demo = json.loads(described.read_text())
    only = set(sys.argv[1:])
    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", CHROMIUM), args=ARGUMENTS)
        for look in LOOKS:
            with signed_in(browser, demo, look) as page:
                wanted = pages(demo)
                if rollout := latest_rollout(page, demo):
                    wanted["rollout"] = rollout
                for name, path in wanted.items():
                    if not only or name in only:
                        take(page, path, TARGET / f"{name}-{look.name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

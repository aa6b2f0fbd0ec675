"""A pgpool on another host: registered by its host key, edited there by hand over SSH, adopted and reverted."""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from apps.clusters.outside.delivery.ssh_keys import KeyPair, fingerprint, new_key
from apps.clusters.outside.delivery.ssh_session import SCRIPT
from tests.browser.conftest import Visitor
from tests.product import Product
from tests.ssh_host import SshHost, ssh_host

pytestmark = pytest.mark.timeout(400)

INSTALLED_SCRIPT = "/usr/local/lib/lifeguard/node"


@dataclass
class Night:
    """The host of pgpool-1, and somebody who has a shell there."""

    sshd: SshHost
    conf: Path
    person: KeyPair

    def allow(self, *lines: str) -> None:
        """Lines of authorized_keys beside the person's; the script lies where this clone has it."""
        told = [line.replace(INSTALLED_SCRIPT, f"sh {SCRIPT}") for line in lines]
        text = "\n".join([*told, self.person.public, ""])
        (self.sshd.folder / "authorized_keys").write_text(text, encoding="utf-8")

    def edit(self, old: str, new: str) -> None:
        """With an editor on that host that writes a new file in place of the old one, as vim does."""
        folder = self.sshd.folder
        key, known = folder / "person", folder / "known_hosts"
        key.touch(mode=0o600)
        key.write_text(self.person.private, encoding="utf-8")
        known.write_text(f"[127.0.0.1]:{self.sshd.port} {self.sshd.host.public}\n", encoding="utf-8")
        command = ["ssh", "-F", "none", "-i", key, "-p", str(self.sshd.port), "-l", self.sshd.account.username]
        options = ["-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={known}", "-o", "IdentityAgent=none"]
        told = ["127.0.0.1", "sed", "-i", f"'s/^{old}$/{new}/'", str(self.conf)]
        subprocess.run([*command, *options, *told], check=True, capture_output=True, timeout=60)
        assert f"{new}\n" in self.conf.read_text(encoding="utf-8")


@pytest.fixture
def night(restored: Product, tmp_path: Path) -> Iterator[Night]:
    with ssh_host(tmp_path / "sshd") as sshd:
        found = Night(sshd, restored.conf("pgpool-1"), new_key("night shift"))
        found.allow()
        yield found


def run_test(page: Page, *, until: str) -> None:
    """The connection test; until: what its report then says, folded away or not."""
    expect(page.locator("#report")).not_to_contain_text(until)
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#report")).to_contain_text(until)


def register(page: Page, product: Product, night: Night) -> None:
    """As a newcomer does it: the tests say what is missing."""
    lab = product.lab.addresses
    page.get_by_role("link", name="Register cluster").click()
    page.get_by_label("Monitoring role").fill(lab["monitor"]["username"])
    page.get_by_label("Password", exact=True).fill(lab["monitor"]["password"])
    page.get_by_label("Host", exact=True).fill(lab["pgpools"][0]["host"])
    page.get_by_label("Port", exact=True).fill(str(lab["pgpools"][0]["port"]))
    page.get_by_label("How its pgpool.conf is delivered").select_option(label="SSH: on another host")
    page.get_by_label("Path of pgpool.conf").fill(str(night.conf))
    page.get_by_label("SSH host").fill("127.0.0.1")
    page.get_by_label("SSH port").fill(str(night.sshd.port))
    page.get_by_label("Account").fill(night.sshd.account.username)

    presented = fingerprint(night.sshd.host.public)
    run_test(page, until=presented)
    page.get_by_label("Fingerprint of the host key").fill(presented)
    run_test(page, until="does not let")
    night.allow(page.locator("#report li[data-step=failed] code").inner_text())
    run_test(page, until="Lifeguard's script answers")
    expect(page.locator("[data-connection=ok]")).to_be_visible()

    page.get_by_label("Name", exact=True).last.fill("Night")
    page.get_by_role("button", name="Register cluster").click()
    expect(page).to_have_url(f"{product.url}/o/demo/clusters/night/")


def await_in_step(visitor: Visitor) -> None:
    page = visitor.go("~drift/", cluster="night")
    expect(page.locator("[data-drift]")).to_have_attribute("data-drift", "in_step")


def test_an_edit_over_ssh_is_seen_and_adopted_or_reverted_with_two_clicks(
    restored: Product, night: Night, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    register(visitor.go(), restored, night)
    await_in_step(visitor)

    for way, kept in (("Adopt", "sr_check_period = 7"), ("Revert", "sr_check_period = 7")):
        old, new = ("1", "7") if way == "Adopt" else ("7", "9")
        page = visitor.go("~", cluster="night")
        expect(page.locator("[data-drift-ways]")).to_have_count(0)

        night.edit(f"sr_check_period = {old}", f"sr_check_period = {new}")

        sentence = re.compile(rf"Edited by hand on pgpool-1: sr_check_period {old} → {new}")
        expect(page.get_by_text(sentence).first).to_be_visible()
        assert sentence.match(restored.get("clusters/night/drift/")["sentence"])
        page.get_by_role("link", name=f"{way} what was edited by hand").click()
        page.get_by_role("button", name=re.compile(f"^{way} ")).click()

        expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
        expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
        assert f"{kept}\n" in night.conf.read_text(encoding="utf-8")
        expect(visitor.go("~drift/", cluster="night").locator("[data-drift]")).to_have_attribute(
            "data-drift", "in_step"
        )

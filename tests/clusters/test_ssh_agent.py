"""Delivery by SSH where an ssh-agent signs: its keys are offered, and no other key that lies about."""

import html
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.models import SshKey
from apps.clusters.outside.delivery import FileUnreadable, ssh_agent, ssh_session
from apps.clusters.outside.delivery.outcomes import sha256_of
from apps.clusters.outside.delivery.ssh import SshFile
from apps.clusters.outside.delivery.ssh_keys import fingerprint, new_key
from controlplane.environment import DeliveryDirectory
from tests.clusters.callers_at_doors import browser, script
from tests.ssh_agent import SshAgent
from tests.ssh_agent import ssh_agent as agent_running
from tests.ssh_host import SshHost, ssh_host

TEXT = "port = 9999\nbackend_weight1 = 1\n"
CHANGED = "port = 9999\nbackend_weight1 = 3\n"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[SshAgent]:
    with agent_running(tmp_path / "a") as running:
        yield running


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    with ssh_host(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "pgpool.conf"
    path.write_text(TEXT)
    return path


@pytest.fixture
def file(sshd: SshHost, conf: Path, agent: SshAgent) -> SshFile:
    sshd.authorize(conf)
    return SshFile(replace(sshd.account, agent=str(agent.socket), private_key=""), str(conf))


def test_a_file_is_read_and_written_with_a_key_that_only_the_agent_holds(
    file: SshFile, sshd: SshHost, conf: Path, agent: SshAgent
) -> None:
    agent.add(new_key("another"))
    agent.add(sshd.client)

    assert file.read().text == TEXT
    file.write(CHANGED, expected_sha256=sha256_of(TEXT.encode()), rollout_tag="r1")

    assert conf.read_text() == CHANGED


def test_no_key_of_the_workers_account_is_offered_in_its_place(
    file: SshFile, sshd: SshHost, agent: SshAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key at home would be let in: it is the one that the host knows."""
    own = tmp_path / "home" / ".ssh" / "id_ed25519"
    own.parent.mkdir(parents=True, mode=0o700)
    own.write_text(sshd.client.private)
    own.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    with pytest.raises(FileUnreadable, match="the ssh-agent that signs for Lifeguard holds no key"):
        file.read()
    agent.add(new_key("another"))
    with pytest.raises(FileUnreadable, match=r"does not let .* in with a key of Lifeguard's ssh-agent \(1 offered\)"):
        file.read()
    agent.add(sshd.client)
    assert file.read().text == TEXT


def test_an_agent_that_is_gone_or_hangs_is_told_as_such(
    file: SshFile, agent: SshAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_session, "CONNECT_DEADLINE_S", 4.0)
    monkeypatch.setattr(ssh_agent, "LOOK_DEADLINE_S", 0.3)
    agent.process.send_signal(signal.SIGSTOP)
    try:
        assert ssh_agent.look(str(agent.socket)).trouble == "it did not answer within 0.3 s"
        with pytest.raises(FileUnreadable, match="the ssh-agent that signs for Lifeguard does not answer"):
            file.read()
    finally:
        agent.process.send_signal(signal.SIGCONT)
    agent.stop()

    assert "it cannot be asked" in ssh_agent.look(str(agent.socket)).trouble
    with pytest.raises(FileUnreadable, match="the ssh-agent that signs for Lifeguard cannot be asked"):
        file.read()


@pytest.mark.django_db
def test_the_page_and_rest_show_the_keys_that_are_offered(agent: SshAgent, settings: Any) -> None:
    held = new_key("held by an agent")
    agent.add(held)
    settings.SSH_AGENTS = [DeliveryDirectory("acme", agent.socket)]
    admin, asker = browser("admin"), script("admin", organisation="rival")

    page = html.unescape(admin.get("/o/acme/ssh-key/").content.decode())
    stored = SshKey.objects.get(organisation__slug="acme").public_key
    assert f"restrict {held.public}" in page
    assert stored not in page
    assert "is not offered while the agent signs" in page
    assert asker.get("/api/v1/ssh-key/").json()["agent"] is None

    settings.SSH_AGENTS = [DeliveryDirectory(None, agent.socket)]
    answer = asker.get("/api/v1/ssh-key/").json()
    assert answer["authorized_keys"] == answer["agent"]["keys"][0]["authorized_keys"]
    assert answer["authorized_keys"].endswith(f"restrict {held.public}")
    assert answer["agent"]["keys"][0]["fingerprint"] == fingerprint(held.public) != answer["fingerprint"]

    told = admin.post("/o/acme/ssh-key/create/", follow=True).content.decode()
    assert "No host is shown it while an ssh-agent signs." in told
    assert "Put its line on every host" not in told

    agent.forget()
    assert "It holds no key" in admin.get("/o/acme/ssh-key/").content.decode()
    agent.stop()
    assert "Its keys are not known: it cannot be asked" in admin.get("/o/acme/ssh-key/").content.decode()
    assert asker.get("/api/v1/ssh-key/").json()["authorized_keys"] == ""


SUDOERS = """#!/bin/sh
# Stands in for sudo where none may be assumed: lets through what the documented line of sudoers names, and runs it as
# "root", which the stand-in of id says then.
echo "$*" >>"{folder}/asked"
case "$*" in
    "-n -- {script} {conf} -- "*) shift 2; SEEN_AS_ROOT=1 exec "$@" ;;
    *) echo "sudo: a password is required" >&2; exit 1 ;;
esac
"""
ID = '#!/bin/sh\n[ "$*" = -u ] && {{ echo "${{SEEN_AS_ROOT:+0}}" | sed "s/^$/1000/"; exit; }}\nexec {program} "$@"\n'


def test_the_script_asks_sudo_for_itself_and_its_files_as_the_documented_line_allows(
    sshd: SshHost, conf: Path, agent: SshAgent, tmp_path: Path
) -> None:
    """With the agent's key, through a forced command of an account that is not root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    node, other = folder / "node", conf.with_name("other.conf")
    text = ssh_session.SCRIPT.read_text().replace('PATH="', f'PATH="{folder}:')
    assert f'PATH="{folder}:' in text
    stand_ins = {
        "node": text,
        "sudo": SUDOERS.format(folder=folder, script=node, conf=conf),
        "id": ID.format(program=shutil.which("id")),
    }
    for name, content in stand_ins.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
    agent.add(sshd.client)
    account = replace(sshd.account, agent=str(agent.socket), private_key="", has_sudo=True)

    sshd.authorize(conf, script=node)
    assert SshFile(account, str(conf)).read().text == TEXT
    SshFile(account, str(conf)).write(CHANGED, expected_sha256=sha256_of(TEXT.encode()), rollout_tag="r1")

    assert conf.read_text() == CHANGED
    asked = (folder / "asked").read_text().splitlines()
    assert asked[0] == f"-n -- {node} {conf} -- read {conf}"
    assert asked[1].startswith(f"-n -- {node} {conf} -- write {conf} ")
    sshd.authorize(conf, other, script=node)  # not in the order, nor with the files, of the line in sudoers
    with pytest.raises(FileUnreadable, match="a password is required"):
        SshFile(account, str(conf)).read()

"""Delivery by SSH to a real sshd: one file by a forced command, a pinned host key, deadlines that hold."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from apps.clusters.outside.delivery import (
    DryRunRejected,
    FileChanged,
    FileUnreadable,
    ReloadFailed,
    WriteFailed,
    ssh,
    ssh_session,
)
from apps.clusters.outside.delivery.outcomes import sha256_of
from apps.clusters.outside.delivery.restart import RestartNotBegun
from apps.clusters.outside.delivery.ssh import SshFile
from apps.clusters.outside.delivery.ssh_keys import KeyRefused, fingerprint, given_key, new_key
from apps.clusters.outside.delivery.ssh_session import SshFailed
from tests.ssh_host import SshHost, ssh_host

TEXT = "listen_addresses = '*'\nbackend_weight0 = 0\nbackend_weight1 = 1  # the standby\n"
CHANGED = TEXT.replace("backend_weight1 = 1", "backend_weight1 = 3")
# A pgpool with a watchdog, whose words go to syslog.
SPEAKS_ELSEWHERE = (
    "use_watchdog = on\nhostname0 = 'a'\nwd_port0 = 9000\npgpool_port0 = 9999\nlog_destination = 'syslog'\n"
)


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    with ssh_host(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = tmp_path / "pgpool"
    folder.mkdir()
    path = folder / "pgpool.conf"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


@pytest.fixture
def file(sshd: SshHost, conf: Path) -> SshFile:
    """The file as the forced command lets Lifeguard touch it."""
    sshd.authorize(conf)
    return SshFile(sshd.account, str(conf))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(file: SshFile, text: str = CHANGED, *, expected: str = TEXT, **options: float) -> Path:
    return Path(file.write(text, expected_sha256=sha256_of(expected.encode()), rollout_tag="r7", **options))


def test_a_file_is_read_with_its_rights_and_what_may_be_done_with_it(file: SshFile, conf: Path) -> None:
    seen = file.look()

    assert (seen.live.text, seen.live.sha256, seen.live.mode) == (TEXT, sha256_of(TEXT.encode()), "0640")
    assert (seen.path, seen.obstacle, seen.is_open) == (str(conf), "", False)
    assert seen.program.endswith("pgpool")


def test_a_write_replaces_the_whole_file_and_keeps_the_old_one_beside_it(file: SshFile, conf: Path) -> None:
    if os.geteuid() == 0:
        os.chown(conf, 65534, 65534)
    before = conf.stat()

    kept = write(file)

    after = conf.stat()
    assert conf.read_text() == CHANGED
    assert after.st_ino != before.st_ino  # renamed into place, never edited
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (before.st_uid, before.st_gid, 0o640)
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == (TEXT, 0o640)
    assert names(conf.parent) == ["pgpool.conf", "pgpool.conf.lifeguard-r7"]


def test_a_link_stays_a_link_and_is_not_followed_elsewhere_later(sshd: SshHost, conf: Path, tmp_path: Path) -> None:
    link, other = tmp_path / "etc.conf", tmp_path / "other.conf"
    link.symlink_to(conf)
    other.write_text(TEXT)
    sshd.authorize(link)
    file = SshFile(sshd.account, str(link), str(conf))

    write(file)

    assert (link.is_symlink(), conf.read_text()) == (True, CHANGED)
    link.unlink()
    link.symlink_to(other)
    with pytest.raises(FileUnreadable, match=f"leads to {other} now"):
        file.read()


def test_old_copies_and_large_files_do_not_pile_up(file: SshFile, conf: Path) -> None:
    old, large = TEXT, TEXT + "# " + "x" * 900_000 + "\n"
    for number in range(7):
        new = f"{large}# {number}\n"
        file.write(new, expected_sha256=sha256_of(old.encode()), rollout_tag=f"r{number}")
        old = new

    assert conf.read_text() == old
    assert len(names(conf.parent)) == 6


# What stands in the way -> how it is made, and what is said.
REFUSED: dict[str, tuple[Callable[[SshHost, Path], object], str]] = {
    "another path": (lambda sshd, conf: sshd.authorize(conf.with_name("other.conf")), "not among the files"),
    "no file": (lambda sshd, conf: conf.unlink(), "does not exist"),
    "a named pipe": (lambda sshd, conf: (conf.unlink(), os.mkfifo(conf)), "is not a regular file"),
    "a directory": (lambda sshd, conf: (conf.unlink(), conf.mkdir()), "is not a regular file"),
    "too large": (lambda sshd, conf: conf.write_bytes(b"#" * (1 << 20) + b"\n"), "larger than 1 MiB"),
    "changed meanwhile": (lambda sshd, conf: conf.write_text(TEXT + "#\n"), "was changed meanwhile"),
    "a full disk": (lambda sshd, conf: sshd.authorize(conf, before="ulimit -f 0;"), "was not replaced|cannot be"),
    "no key": (lambda sshd, conf: (sshd.folder / "authorized_keys").write_text(""), "does not let"),
    "another program": (
        lambda sshd, conf: sshd.authorize(conf, before="echo Welcome; exit 0;"),
        "runs something else than Lifeguard's script: Welcome",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_written_where_something_stands_in_the_way(
    case: str, file: SshFile, conf: Path, sshd: SshHost
) -> None:
    prepare, words = REFUSED[case]
    prepare(sshd, conf)
    before = conf.read_bytes() if conf.is_file() else None

    with pytest.raises((WriteFailed, FileChanged), match=words):
        write(file)

    assert (conf.read_bytes() if conf.is_file() else None) == before
    assert set(names(conf.parent)) <= {"pgpool.conf"}  # no draft is left


def test_another_host_key_is_refused_with_both_fingerprints_named(file: SshFile, sshd: SshHost, conf: Path) -> None:
    other = new_key("another host")
    stranger = SshFile(replace(sshd.account, host_key=other.public), str(conf))
    nobody_confirmed = SshFile(replace(sshd.account, host_key=""), str(conf))
    mine = fingerprint(sshd.host.public)

    with pytest.raises(FileUnreadable) as caught:
        stranger.read()
    assert mine in str(caught.value)
    assert f"not {fingerprint(other.public)}" in str(caught.value)
    with pytest.raises(FileUnreadable, match="nobody has confirmed yet"):
        nobody_confirmed.read()
    confirmed = SshFile(replace(sshd.account, host_key="", expected=mine), str(conf)).look()
    assert confirmed.host_key.split()[:2] == sshd.host.public.split()[:2]


def test_a_frozen_sshd_ends_a_request_by_its_deadline(
    file: SshFile, sshd: SshHost, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_session, "CONNECT_DEADLINE_S", 0.3)
    sshd.signal(signal.SIGSTOP)
    try:
        with pytest.raises(WriteFailed, match=r"did not answer within 0\.3 s"):
            write(file)
    finally:
        sshd.signal(signal.SIGCONT)

    assert conf.read_text() == TEXT


def test_nothing_is_written_once_the_time_of_the_worker_is_over(file: SshFile, conf: Path) -> None:
    with pytest.raises(WriteFailed, match="held up for too long"):
        write(file, not_after=time.monotonic())

    assert conf.read_text() == TEXT


def test_an_account_with_a_shell_is_given_the_script(sshd: SshHost, conf: Path) -> None:
    sshd.authorize()
    file = SshFile(sshd.account, str(conf))

    seen = file.look()
    write(file)

    assert seen.is_open
    assert conf.read_text() == CHANGED


def test_the_pgpool_of_that_host_parses_the_file_beforehand(file: SshFile) -> None:
    assert file.dry_run(CHANGED).is_available
    assert file.dry_run(CHANGED + SPEAKS_ELSEWHERE).is_available
    with pytest.raises(DryRunRejected, match="outside the valid range") as caught:
        file.dry_run(TEXT + "backend_weight1 = -1\n")
    assert "/tmp" not in str(caught.value)


@pytest.mark.parametrize("name", ["pgpool", "sleep"])
def test_a_reload_signals_a_pgpool_and_nothing_else(file: SshFile, conf: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / name
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    # Whoever starts the tests may ignore the signal, and a child inherits that.
    with subprocess.Popen(["env", "--default-signal=HUP", str(program), "60"]) as process:
        pid_file = tmp_path / "pgpool.pid"
        pid_file.write_bytes(f"{process.pid}\0".encode())  # pgpool ends the number with a NUL byte
        conf.write_text(f"{TEXT}pid_file_name = '{pid_file}'\n")
        if name == "pgpool":
            assert file.reload(pcp=None, deadline_s=20).note.startswith(f"SIGHUP to process {process.pid} on ")
            assert process.wait(timeout=20) == -signal.SIGHUP
        else:
            with pytest.raises(ReloadFailed, match="which is sleep, not pgpool"):
                file.reload(pcp=None, deadline_s=20)
            process.kill()


def test_a_given_key_must_be_one_and_is_never_repeated() -> None:
    pair = new_key("x")

    assert given_key(pair.private, comment="lifeguard@acme").public.endswith(" lifeguard@acme")
    for text in ("", "secret", pair.public, "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n", "x" * 30_000, "a\0b"):
        with pytest.raises(KeyRefused) as caught:
            given_key(text, comment="")
        assert "secret" not in str(caught.value)


RESTART = (
    '#!/bin/sh\necho "restarting $1"\ncase $1 in */pgpool.conf) echo "$1" >>"${0%/*}/asked" ;; *) exit 4 ;; esac\n'
)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The script as it is installed on a host."""
    script = tmp_path / "lib" / "node"
    script.parent.mkdir()
    shutil.copy(ssh_session.SCRIPT, script)
    return script


def test_a_restart_runs_the_hosts_own_program_for_this_file(sshd: SshHost, conf: Path, installed: Path) -> None:
    program = installed.with_name("restart")
    program.write_text(RESTART)
    program.chmod(0o755)
    other = conf.with_name("other.conf")
    other.write_text(TEXT)
    sshd.authorize(conf, other, script=installed)

    ended = SshFile(sshd.account, str(conf)).restart()

    assert (ended.code, ended.said) == (0, f"restarting {conf}")
    assert installed.with_name("asked").read_text() == f"{conf}\n"
    refused = SshFile(sshd.account, str(other)).restart()
    assert (refused.code, refused.said, refused.text) == (4, f"restarting {other}", "code 4")


def test_a_host_without_a_restart_program_says_so(sshd: SshHost, conf: Path, installed: Path) -> None:
    sshd.authorize(conf, script=installed)
    with pytest.raises(RestartNotBegun, match=f"no program {installed.with_name('restart')} stands on that host"):
        SshFile(sshd.account, str(conf)).restart()

    sshd.authorize()  # a shell: the script is sent along
    with pytest.raises(RestartNotBegun, match="only the installed script restarts a pgpool"):
        SshFile(sshd.account, str(conf)).restart()


@pytest.mark.parametrize("said", ["", "code", "code -"])
def test_a_restart_without_an_outcome_is_not_known_to_have_failed(
    sshd: SshHost, conf: Path, tmp_path: Path, said: str
) -> None:
    """The script was killed, or the connection lost, while the program ran."""
    cut_short = tmp_path / "cut-short"
    cut_short.write_text(f"#!/bin/sh\nprintf 'lifeguard-node 1\\n{said}'\n")
    cut_short.chmod(0o755)
    sshd.authorize(conf, script=cut_short)

    with pytest.raises(SshFailed, match="the script ended without an outcome") as caught:
        SshFile(sshd.account, str(conf)).restart()

    assert caught.value.step == "ssh_script"


def test_a_restart_of_another_file_is_refused(sshd: SshHost, conf: Path, installed: Path) -> None:
    sshd.authorize(conf, script=installed)

    with pytest.raises(RestartNotBegun, match="not among the files of the forced command"):
        SshFile(sshd.account, "/etc/other.conf").restart()


# What a name resolves to beside 127.0.0.1, where the sshd listens -> where in the order.
ADDRESSES = {"refused first": ("::1", "127.0.0.1"), "refused last": ("127.0.0.1", "::1")}


@pytest.fixture
def named(file: SshFile, conf: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SshFile]:
    """The same file at a host whose name has these addresses."""

    def at(*addresses: str) -> SshFile:
        async def resolved(host: str, port: int, *, deadline_s: float) -> tuple[str, ...]:
            return addresses

        monkeypatch.setattr(ssh_session, "resolve", resolved)
        return SshFile(replace(file.account, host="pgpool.example"), str(conf))

    return at


@pytest.mark.parametrize("case", ADDRESSES)
def test_every_address_of_a_name_is_tried_in_turn(case: str, named: Callable[..., SshFile]) -> None:
    assert named(*ADDRESSES[case]).read().text == TEXT


def test_an_address_that_is_silent_has_its_share_of_the_time_only(
    named: Callable[..., SshFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_session, "CONNECT_DEADLINE_S", 10.0)
    monkeypatch.setattr(ssh, "READ_DEADLINE_S", 20.0)
    with socket.create_server(("127.0.0.2", named("127.0.0.1").account.port)):  # takes the connection, and says nothing
        assert named("127.0.0.2", "127.0.0.1").read().text == TEXT


def test_all_addresses_that_fail_are_named_and_another_host_key_ends_the_search(
    named: Callable[..., SshFile], conf: Path
) -> None:
    with pytest.raises(FileUnreadable) as caught:
        named("::1", "127.0.0.3").read()
    for told in ("at none of its addresses", "::1: ", "127.0.0.3: "):
        assert told in str(caught.value)

    first = named("127.0.0.1", "::1")
    with pytest.raises(FileUnreadable, match="another host key"):
        SshFile(replace(first.account, host_key=new_key("another host").public), str(conf)).read()

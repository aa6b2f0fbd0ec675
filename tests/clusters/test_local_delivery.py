"""Local delivery: whole files only, inside allowed directories only, nothing half-written."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.clusters.outside.delivery import (
    DryRunRejected,
    FileChanged,
    FileUnreadable,
    LocalFile,
    ReloadFailed,
    WriteFailed,
)
from apps.clusters.outside.delivery.dry_run import parse_with_pgpool
from apps.clusters.outside.pcp import PcpAddress
from tests.fake_pgpool import FakePgpool

TEXT = "listen_addresses = '*'\nbackend_weight0 = 0\nbackend_weight1 = 1  # the standby\n"
CHANGED = TEXT.replace("backend_weight1 = 1", "backend_weight1 = 3")
SLACK_S = 30.0


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = tmp_path / "pgpool"
    folder.mkdir()
    path = folder / "pgpool.conf"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


@pytest.fixture
def pgpool(conf: Path) -> Iterator[FakePgpool]:
    with FakePgpool(conf=conf).running() as running:
        yield running


def test_a_file_is_read_with_its_hash_and_rights(conf: Path) -> None:
    live = LocalFile(conf).read()

    assert live.text == TEXT
    assert live.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert live.mode == "0640"


def test_a_write_replaces_the_whole_file_and_keeps_the_old_one_beside_it(conf: Path) -> None:
    file = LocalFile(conf)
    live = file.read()
    inode = conf.stat().st_ino

    backup = file.write(CHANGED, expected_sha256=live.sha256, rollout_tag="r7")

    assert conf.read_text() == CHANGED
    assert backup == conf.with_name("pgpool.conf.lifeguard-r7")
    assert backup.read_text() == TEXT
    assert conf.stat().st_ino != inode  # renamed into place, never edited
    assert sorted(path.name for path in conf.parent.iterdir()) == ["pgpool.conf", "pgpool.conf.lifeguard-r7"]


def test_line_ends_are_kept(conf: Path) -> None:
    conf.write_bytes(b"port = 9999\r\nbackend_weight0 = 1\r\n")
    file = LocalFile(conf)
    live = file.read()

    file.write(live.text.replace("= 1", "= 2"), expected_sha256=live.sha256, rollout_tag="r7")

    assert conf.read_bytes() == b"port = 9999\r\nbackend_weight0 = 2\r\n"


def test_mode_and_owner_are_kept_by_file_and_backup(conf: Path) -> None:
    if os.geteuid() == 0:
        os.chown(conf, 65534, 65534)
    before = conf.stat()
    file = LocalFile(conf)

    backup = file.write(CHANGED, expected_sha256=file.read().sha256, rollout_tag="r7")

    for path in (conf, backup):
        after = path.stat()
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
        assert stat.S_IMODE(after.st_mode) == 0o640


def test_a_symbolic_link_stays_a_link(conf: Path, tmp_path: Path) -> None:
    link = tmp_path / "etc.conf"
    link.symlink_to(conf)
    file = LocalFile(link)

    file.write(CHANGED, expected_sha256=file.read().sha256, rollout_tag="r7")

    assert link.is_symlink()
    assert conf.read_text() == CHANGED


def test_a_file_that_was_edited_meanwhile_is_left_alone(conf: Path) -> None:
    file = LocalFile(conf)
    live = file.read()
    edited = TEXT + "# by hand\n"
    conf.write_text(edited)

    with pytest.raises(FileChanged, match="was changed meanwhile"):
        file.write(CHANGED, expected_sha256=live.sha256, rollout_tag="r7")

    assert conf.read_text() == edited
    assert [path.name for path in conf.parent.iterdir()] == ["pgpool.conf"]


def test_a_write_that_is_repeated_after_a_crash_is_refused_as_changed_and_harms_nothing(conf: Path) -> None:
    file = LocalFile(conf)
    live = file.read()
    backup = file.write(CHANGED, expected_sha256=live.sha256, rollout_tag="r7")

    with pytest.raises(FileChanged) as caught:
        file.write(CHANGED, expected_sha256=live.sha256, rollout_tag="r7")

    assert caught.value.found_sha256 == file.read().sha256
    assert backup.read_text() == TEXT


def test_a_write_that_the_disk_held_up_replaces_nothing_any_more(conf: Path) -> None:
    """Another worker may hold the rollout by then, and have put the old file back."""
    expected = LocalFile(conf).read().sha256

    with pytest.raises(WriteFailed, match="was not replaced"):
        LocalFile(conf).write(CHANGED, expected_sha256=expected, rollout_tag="7", deadline_s=0)

    assert conf.read_text() == TEXT
    assert {path.name for path in conf.parent.iterdir()} == {"pgpool.conf", "pgpool.conf.lifeguard-7"}


def test_a_named_pipe_is_refused_and_not_waited_for(conf: Path) -> None:
    conf.unlink()
    os.mkfifo(conf)

    with pytest.raises(FileUnreadable, match="not a regular file"):
        LocalFile(conf).read()


def test_only_the_latest_five_backups_are_kept(conf: Path) -> None:
    file = LocalFile(conf)

    for number in range(8):
        backup = file.write(f"{TEXT}# {number}\n", expected_sha256=file.read().sha256, rollout_tag=f"r{number}")
        os.utime(backup, ns=(number, number))

    kept = sorted(path.name for path in conf.parent.glob("*.lifeguard-*"))
    assert kept == [f"pgpool.conf.lifeguard-r{number}" for number in range(3, 8)]


def test_what_a_killed_worker_left_half_written_is_removed(conf: Path) -> None:
    left, fresh = conf.with_name(".pgpool.conf.lifeguard-abc"), conf.with_name(".pgpool.conf.lifeguard-xyz")
    for draft in (left, fresh):
        draft.write_text(CHANGED)
    os.utime(left, (0, 0))

    LocalFile(conf).write(CHANGED, expected_sha256=LocalFile(conf).read().sha256, rollout_tag="r7")

    assert not left.exists()
    assert fresh.exists()  # another write may be under way


def test_a_write_is_done_although_an_old_backup_cannot_be_removed(conf: Path) -> None:
    for number in range(6):
        conf.with_name(f"pgpool.conf.lifeguard-{number}").mkdir()  # what is no file cannot be unlinked

    LocalFile(conf).write(CHANGED, expected_sha256=LocalFile(conf).read().sha256, rollout_tag="r7")

    assert conf.read_text() == CHANGED


def test_a_file_that_cannot_be_read_is_a_failed_reload(conf: Path) -> None:
    conf.write_bytes(b"port = \xff\n")

    with pytest.raises(ReloadFailed, match="is not UTF-8 text"):
        LocalFile(conf).reload(pcp=None, deadline_s=SLACK_S)


def test_a_tag_cannot_lead_out_of_the_directory(conf: Path) -> None:
    file = LocalFile(conf)

    with pytest.raises(ValueError, match="part of a file name"):
        file.write(CHANGED, expected_sha256=file.read().sha256, rollout_tag="../../x")


def test_a_file_that_cannot_be_replaced_stays_as_it_is(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LocalFile(conf)
    live = file.read()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteFailed, match="no space left"):
        file.write(CHANGED, expected_sha256=live.sha256, rollout_tag="r7")

    assert conf.read_text() == TEXT
    assert [path.name for path in conf.parent.iterdir()] == ["pgpool.conf"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"port = 9999\nlogdir = '/r\xe9p'\n", "line 2, is not UTF-8"), (b"#" * (1 << 20) + b"\n", "larger than 1 MiB")],
)
def test_what_is_no_configuration_is_refused(conf: Path, content: bytes, words: str) -> None:
    conf.write_bytes(content)

    with pytest.raises(FileUnreadable, match=words):
        LocalFile(conf).read()


def test_a_missing_file_is_refused_with_the_reason(conf: Path) -> None:
    file = LocalFile(conf)
    conf.unlink()

    with pytest.raises(FileUnreadable, match="no such file"):
        file.read()


def test_a_reload_by_pcp_lets_pgpool_take_the_written_weights(pgpool: FakePgpool, conf: Path) -> None:
    file = LocalFile(conf)
    file.write(CHANGED, expected_sha256=file.read().sha256, rollout_tag="r7")

    receipt = file.reload(pcp=PcpAddress(pgpool.host, pgpool.pcp_port, "pcp", "secret"), deadline_s=SLACK_S)

    assert receipt.channel == "pcp"
    assert pgpool.weights == {0: 0, 1: 3, 2: 1}


def test_a_reload_that_pcp_refuses_is_a_failure_with_its_mending(pgpool: FakePgpool, conf: Path) -> None:
    with pytest.raises(ReloadFailed, match="authentication failed") as caught:
        LocalFile(conf).reload(pcp=PcpAddress(pgpool.host, pgpool.pcp_port, "pcp", "wrong"), deadline_s=SLACK_S)

    assert "pcp.conf" in caught.value.fix


@pytest.mark.parametrize(
    ("pid_file", "words"),
    [(None, "names no pid_file_name"), ("missing", "no running pgpool"), ("mine", "not pgpool")],
)
def test_no_signal_is_sent_to_anything_but_a_pgpool(conf: Path, pid_file: str | None, words: str) -> None:
    if pid_file is not None:
        named = conf.parent / "pgpool.pid"
        conf.write_text(f"{TEXT}pid_file_name = '{named}'\n")
        if pid_file == "mine":
            named.write_bytes(f"{os.getpid()}\0".encode())  # pgpool ends its number with a NUL byte

    with pytest.raises(ReloadFailed, match=words):
        LocalFile(conf).reload(pcp=None, deadline_s=SLACK_S)


WATCHDOG = "use_watchdog = on\nhostname0 = 'a'\nwd_port0 = 9000\npgpool_port0 = 9999\n"


@pytest.mark.parametrize("more", ["", "log_destination = 'syslog'\n", "log_min_messages = panic\n", WATCHDOG])
def test_pgpool_itself_parses_a_good_file_beforehand(conf: Path, more: str) -> None:
    outcome = LocalFile(conf).dry_run(CHANGED + more)

    assert outcome.is_available


@pytest.mark.parametrize(
    ("line", "words"), [("!! nonsense\n", "syntax error"), ("backend_weight1 = -1\n", "outside the valid range")]
)
def test_pgpool_itself_refuses_a_bad_file_beforehand(conf: Path, line: str, words: str) -> None:
    with pytest.raises(DryRunRejected, match=words) as caught:
        LocalFile(conf).dry_run(TEXT + line)

    assert "/tmp" not in str(caught.value)


def test_without_a_pgpool_program_the_dry_run_says_that_it_did_not_happen() -> None:
    outcome = parse_with_pgpool(TEXT, program=None)

    assert not outcome.is_available
    assert "not parsed beforehand" in outcome.note

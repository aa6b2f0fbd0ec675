"""Which file may be delivered at all: inside allowed directories, of the right organisation, the registered one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from apps.clusters.outside.delivery import (
    FileUnreadable,
    LocalFile,
    ObserveOnly,
    PathRefused,
    UnknownDelivery,
    WritesForbidden,
    allowed_directory,
    delivery_for,
)

TEXT = "listen_addresses = '*'\nbackend_weight0 = 0\nbackend_weight1 = 1  # the standby\n"


@dataclass(frozen=True)
class Directory:
    organisation: str | None
    path: Path


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = tmp_path / "pgpool"
    folder.mkdir()
    path = folder / "pgpool.conf"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


def test_a_path_inside_an_allowed_directory_is_allowed(conf: Path) -> None:
    directories = [Directory(None, conf.parent)]

    assert allowed_directory(str(conf), "acme", directories) == conf


def test_a_directory_of_one_organisation_is_closed_to_the_others(conf: Path) -> None:
    directories = [Directory("acme", conf.parent)]

    assert allowed_directory(str(conf), "acme", directories) == conf
    with pytest.raises(PathRefused):
        allowed_directory(str(conf), "other", directories)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pgpool.conf", "absolute"),
        ("{folder}/../secret.conf", "outside"),
        ("{folder}/link.conf", "outside"),
        ("{folder}-next/pgpool.conf", "outside"),
        ("{folder}/missing.conf", "is not a file"),
        ("{folder}", "is not a file"),
        ("{folder}/pool_passwd", r"end in \.conf"),
        ("/etc/passwd", "outside"),
    ],
)
def test_every_other_path_is_refused(conf: Path, tmp_path: Path, path: str, words: str) -> None:
    (tmp_path / "secret.conf").write_text("secret")
    (conf.parent / "link.conf").symlink_to(tmp_path / "secret.conf")
    (conf.parent / "pool_passwd").write_text("secret")
    beside = tmp_path / "pgpool-next"
    beside.mkdir()
    (beside / "pgpool.conf").write_text(TEXT)

    with pytest.raises(PathRefused, match=words):
        allowed_directory(path.format(folder=conf.parent), "acme", [Directory(None, conf.parent)])


@contextmanager
def without_rights_in(folder: Path) -> Iterator[None]:
    """As an account that may not enter the folder; root may enter every one, so it becomes nobody meanwhile."""
    account = os.geteuid()
    folder.chmod(0)
    try:
        if account == 0:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(account)
        folder.chmod(0o700)


def test_a_directory_that_may_not_be_entered_is_a_refusal(conf: Path) -> None:
    with without_rights_in(conf.parent), pytest.raises(PathRefused, match="not a file that this worker can see"):
        allowed_directory(str(conf), "acme", [Directory(None, conf.parent)])


def test_a_file_behind_a_directory_that_may_not_be_entered_any_more_is_unreadable(conf: Path) -> None:
    file = LocalFile(conf)

    with without_rights_in(conf.parent), pytest.raises(FileUnreadable, match="cannot be read: permission denied"):
        file.read()


def test_without_allowed_directories_every_path_is_refused(conf: Path) -> None:
    with pytest.raises(PathRefused, match="LIFEGUARD_LOCAL_DELIVERY_DIRS"):
        allowed_directory(str(conf), "acme", [])


def test_observe_only_refuses_to_read_write_and_reload() -> None:
    delivery = delivery_for(kind="observe", path="", target=None, organisation_slug="acme", directories=[])

    assert isinstance(delivery, ObserveOnly)
    for touch in (
        delivery.read,
        lambda: delivery.dry_run(TEXT),
        lambda: delivery.write(TEXT, expected_sha256="", rollout_tag="r1"),
        lambda: delivery.reload(pcp=None, deadline_s=1),
    ):
        with pytest.raises(WritesForbidden):
            touch()


def test_an_unknown_way_of_delivery_is_refused() -> None:
    with pytest.raises(UnknownDelivery, match="carrier-pigeon"):
        delivery_for(kind="carrier-pigeon", path="", target=None, organisation_slug="acme", directories=[])


def test_a_link_that_was_moved_since_the_registration_is_refused(tmp_path: Path) -> None:
    first, second, link = (tmp_path / name for name in ("first.conf", "second.conf", "pgpool.conf"))
    first.write_text(TEXT)
    second.write_text(TEXT)
    link.symlink_to(first)

    def delivery() -> object:
        return delivery_for(
            kind="local",
            path=str(link),
            target=str(first),
            organisation_slug="acme",
            directories=[Directory(None, tmp_path)],
        )

    assert isinstance(delivery(), LocalFile)
    link.unlink()
    link.symlink_to(second)

    with pytest.raises(PathRefused, match=f"leads to {second} now, and led to {first} when it was registered"):
        delivery()

"""The set-up keeps new servers off and leaves old ones alone."""

import os
import subprocess
from pathlib import Path

import pytest

from deploy.setup import packages, python_libraries
from deploy.setup.frontend_build import content_hash


def ask_policy(script: str, *, unit: str, directory: Path) -> int:
    policy = directory / "policy-rc.d"
    policy.write_text(script)
    return subprocess.run(["sh", str(policy), unit, "start"], check=False).returncode


@pytest.mark.parametrize(
    ("unit", "answer"),
    [("redis-server", 101), ("postgresql@15-main.service", 101), ("cron", 0), ("cron.service", 0), ("crond", 101)],
)
def test_only_units_that_were_there_before_may_start(unit: str, answer: int, tmp_path: Path) -> None:
    script = packages.policy_script(known={"cron", "ssh"}, kept_aside=None)

    assert ask_policy(script, unit=unit, directory=tmp_path) == answer


def test_units_of_before_are_still_judged_by_the_machines_own_policy(tmp_path: Path) -> None:
    own = tmp_path / "own policy"
    own.write_text("#!/bin/sh\nexit 104\n")
    own.chmod(0o755)
    script = packages.policy_script(known={"cron"}, kept_aside=own)

    assert ask_policy(script, unit="cron", directory=tmp_path) == 104
    assert ask_policy(script, unit="redis-server", directory=tmp_path) == 101


def test_the_install_script_is_valid_shell_and_names_every_package(tmp_path: Path) -> None:
    script = packages.install_script(packages.PACKAGES, tmp_path / "policy-rc.d")

    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    assert all(package.name in script for package in packages.PACKAGES)
    assert "update-rc.d pgpool2 disable" in script
    assert "update-rc.d redis-server disable" in script


def test_nothing_is_missing_on_the_machine_that_runs_the_tests() -> None:
    assert packages.missing_packages(with_tests=True) == []


def test_what_a_cut_off_installation_left_is_installed_again_and_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    query = tmp_path / "dpkg-query"
    query.write_text(
        "#!/bin/sh\necho redis-server unpacked\necho pgpool2 installed\necho haproxy not-installed\nexit 1\n"
    )
    query.chmod(0o755)
    (tmp_path / "redis-server.service").touch()
    (tmp_path / "cron.service").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(packages, "UNIT_DIRECTORIES", (str(tmp_path),))

    assert [one.name for one in packages.missing_packages(with_tests=True)] == ["redis-server"]
    assert packages.units_there_before() == {"cron", "dpkg-query"}


def test_sudo_keeps_what_apt_needs_to_reach_the_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sudo = tmp_path / "sudo"
    sudo.write_text("#!/bin/sh\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name in packages.KEPT_BY_SUDO:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")

    assert packages.as_root(["sh", "x"]) == ["sudo", "--preserve-env=HTTPS_PROXY", "sh", "x"]


def test_a_changed_lock_or_another_python_asks_for_a_new_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    before = python_libraries.lock_hash("requirements.txt")
    monkeypatch.setattr("sys.version_info", (3, 99, 0))

    assert python_libraries.lock_hash("requirements.txt") != before
    assert python_libraries.lock_hash("requirements-dev.txt") != before


def test_a_changed_or_renamed_source_asks_for_a_new_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.setup.frontend_build.FRONTEND", tmp_path)
    source = tmp_path / "main.ts"
    source.write_text("1")
    first = content_hash([source])
    source.write_text("2")
    second = content_hash([source])

    assert first != second
    assert content_hash([source.rename(tmp_path / "other.ts")]) not in {first, second}

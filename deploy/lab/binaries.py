"""Where this machine keeps PostgreSQL and Pgpool-II, and which versions they are."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ProgramMissing(RuntimeError):
    """A program that the lab needs is not installed."""


@dataclass(frozen=True)
class Binaries:
    postgres_bin: Path
    pgpool: Path

    def postgres(self, name: str) -> str:
        return str(self.postgres_bin / name)

    def pcp(self, name: str) -> str:
        return str(self.pgpool.with_name(name))

    @cached_property
    def pgpool_version(self) -> tuple[int, int, int]:
        return version_in(self.pgpool)

    @cached_property
    def postgres_version(self) -> str:
        return _said(self.postgres_bin / "postgres").split()[2]

    @property
    def pgpool_version_text(self) -> str:
        return ".".join(map(str, self.pgpool_version))


def find_binaries() -> Binaries:
    """The newest installed PostgreSQL (Debian keeps each major version in a folder of its own) and pgpool."""
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if versions:
        postgres_bin = max(versions, key=lambda path: float(path.parent.name))
    else:
        postgres_bin = _on_path("initdb", "postgresql").resolve().parent
    return Binaries(postgres_bin=postgres_bin, pgpool=_on_path("pgpool", "pgpool2"))


def version_in(program: Path) -> tuple[int, int, int]:
    """4.3.5 of `pgpool-II version 4.3.5 (tamahomeboshi)`; a missing third part is 0."""
    match = re.search(r"version (\d+)\.(\d+)(?:\.(\d+))?", _said(program))
    if match is None:
        raise ProgramMissing(f"{program} --version names no version")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def _said(program: Path) -> str:
    answer = subprocess.run([program, "--version"], text=True, capture_output=True, check=False)
    return answer.stdout + answer.stderr


def _on_path(name: str, package: str) -> Path:
    found = shutil.which(name, path=SYSTEM_PATH)
    if found is None:
        raise ProgramMissing(f"{name} is not installed: apt-get install {package}")
    return Path(found)

"""The browser's part: npm's packages by their lock, and the bundle, each made again only when its sources changed."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from deploy.setup.python_libraries import ENVIRONMENT
from deploy.setup.steps import CLONE, run_step

FRONTEND = CLONE / "frontend"
# Inside the folders that they describe: who removes the folder removes the stamp.
PACKAGES_STAMP = FRONTEND / "node_modules" / ".installed"
BUILD_STAMP = FRONTEND / "dist" / ".built"
NOT_SOURCES = {"node_modules", "dist"}


def content_hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(FRONTEND)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def sources() -> list[Path]:
    found = []
    for directory, names, files in os.walk(FRONTEND):
        names[:] = [name for name in names if name not in NOT_SOURCES]
        found += [Path(directory, name) for name in files]
    return found


def is_stamped(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


def install() -> None:
    environment = {**os.environ, "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ.get('PATH', '')}"}
    npm = str(ENVIRONMENT / "bin" / "npm")
    packages = content_hash([FRONTEND / "package.json", FRONTEND / "package-lock.json"])
    if not is_stamped(PACKAGES_STAMP, packages):
        ci = [npm, "ci", "--no-audit", "--no-fund"]
        run_step("JavaScript packages", ci, environment=environment, directory=FRONTEND)
        PACKAGES_STAMP.write_text(packages)
    build = content_hash(sources())
    if not is_stamped(BUILD_STAMP, build):
        run_step("pages' scripts and styles", [npm, "run", "build"], environment=environment, directory=FRONTEND)
        BUILD_STAMP.write_text(build)

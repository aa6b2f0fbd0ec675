"""package.json beside the rest of the tree: one version number, and a licence for whatever is bundled."""

import json
import re
from pathlib import Path
from typing import Any

from controlplane import __version__

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"


def package() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FRONTEND / "package.json").read_text())
    return read


def test_the_front_end_has_the_version_of_the_whole() -> None:
    lock = json.loads((FRONTEND / "package-lock.json").read_text())

    assert package()["version"] == __version__
    assert (lock["version"], lock["packages"][""]["version"]) == (__version__, __version__)


def test_everything_that_is_bundled_has_its_licence_in_the_tree() -> None:
    rows = re.findall(r"^\|.*?\| `(\S+)` \| \[.*?\]\((\S+)\)", (FRONTEND / "NOTICES.md").read_text(), re.MULTILINE)

    assert {name for name, _ in rows} == set(package()["dependencies"])
    for name, licence in rows:
        assert "permi" in (FRONTEND / licence).read_text().lower(), f"{name}: {licence} grants nothing"

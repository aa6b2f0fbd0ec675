"""What holds for every test: markers by folder, the cheap ones first, and who was there (program versions)."""

from pathlib import Path

import pytest

from deploy.lab.binaries import ProgramMissing, find_binaries

HERE = Path(__file__).parent
MARKED_FOLDERS = ("lab", "browser", "stack")


def marked_folder(item: pytest.Item) -> str | None:
    top = item.path.relative_to(HERE).parts[0]
    return top if top in MARKED_FOLDERS else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = marked_folder(item)
        if folder is not None:
            item.add_marker(getattr(pytest.mark, folder))
            # Real servers on a busy machine: one second try, which the summary shows.
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))
    order = [None, *MARKED_FOLDERS]
    items.sort(key=lambda item: order.index(marked_folder(item)))


def pytest_report_header() -> str:
    try:
        binaries = find_binaries()
    except ProgramMissing as error:
        return f"lab: {error}"
    return f"lab: Pgpool-II {binaries.pgpool_version_text}, PostgreSQL {binaries.postgres_version}"

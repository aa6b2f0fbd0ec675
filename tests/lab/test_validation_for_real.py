"""The validation of configurations, held to the real pgpool: it is never milder, and what it passes is taken."""

from pathlib import Path

import pytest

from apps.clusters.domain.file_check import Surroundings, check_file
from apps.clusters.domain.findings import Severity
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.parameter import Kind, Parameter
from apps.clusters.outside.delivery.dry_run import DryRunRejected, find_pgpool, parse_with_pgpool
from deploy.lab import Lab
from tests.clusters.domain.malformed import MALFORMED

# Their values alone do not make a pgpool start: other lines, files or servers belong to them.
NEED_MORE = {"use_watchdog", "replication_mode"}


def refuses(text: str) -> bool:
    try:
        assert parse_with_pgpool(text, program=find_pgpool()).is_available
    except DryRunRejected:
        return True
    return False


@pytest.mark.lab
def test_pgpool_refuses_no_more_of_the_broken_files_than_the_table_says(lab: Lab) -> None:
    is_later = lab.binaries.pgpool_version >= (4, 6)
    said = {case.text: case.is_refused and not (is_later and case.is_taken_later) for case in MALFORMED}

    assert [text for text, is_refused in said.items() if refuses(text) != is_refused] == []


def lines(parameter: Parameter) -> list[str]:
    """The parameter with every choice, its ends, its default and a unit; one line each."""
    values = [parameter.default, *parameter.choices]
    if parameter.minimum is not None and parameter.maximum is not None:
        values += [str(int(parameter.minimum)), str(int(parameter.maximum))]
    if parameter.unit and (parameter.takes_units and not parameter.is_bare):
        values.append("7min" if parameter.unit in {"s", "ms", "min"} else "3MB")
    if parameter.kind is Kind.BOOL:
        values += ["on", "off", "yes", "NO", "1", "true"]
    name = f"{parameter.name}0" if parameter.numbered and not parameter.is_bare else parameter.name
    return [f"{name} = '{value}'" for value in values if value is not None]


@pytest.mark.lab
def test_every_value_that_passes_is_taken_by_pgpool(lab: Lab) -> None:
    base = Path(lab.plan.pgpools[0].conf).read_text(encoding="utf-8")
    surroundings = Surroundings(catalogue.for_version("4.3"), [0, 1, 2])
    rows = [lines(parameter) for parameter in surroundings.catalogue if parameter.name not in NEED_MORE]

    # The last line of a name counts, so each file tries one value of every parameter.
    for column in range(max(map(len, rows))):
        tried = [row[column] for row in rows if column < len(row)]
        passing = [line for line in tried if not _has_errors(f"{base}{line}\n", surroundings)]
        assert not refuses(base + "\n".join(passing) + "\n"), passing


def _has_errors(text: str, surroundings: Surroundings) -> bool:
    """Whether anything but the line that stands there a second time is an error."""
    found = check_file(text, surroundings)
    return any(finding.severity is Severity.ERROR and " stands on lines " not in finding.message for finding in found)

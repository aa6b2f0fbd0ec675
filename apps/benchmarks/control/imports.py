"""Results of others are taken in whole or not at all, and removed."""

from __future__ import annotations

from django.db import transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.domain.imported import read_document
from apps.benchmarks.domain.json_fields import ImportedDataError
from apps.benchmarks.domain.pasted import recognise
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.published_examples import published_texts
from apps.benchmarks.models import BenchmarkImport
from apps.benchmarks.queries.imports import detail_answer

MOST_CHARACTERS = 2_000_000
MOST_KEPT = 1000


class ImportRefused(ValueError):
    """Nothing was stored. field: as REST names it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def take_document(*, caller: Caller, text: str, name: str = "", note: str = "") -> BenchmarkImport:
    """A document in the import format. name: "" for its own title. Raises ImportRefused."""
    caller.require(Role.OPERATOR)
    _refuse_too_long("document", text)
    try:
        read = read_document(text)
    except ImportedDataError as error:
        raise ImportRefused(f"document.{error.path}".rstrip("."), str(error)) from error
    return _keep(caller, BenchmarkImport.Kind.DOCUMENT, text, name=name or read.title, note=note)


def take_output(*, caller: Caller, text: str, name: str = "", note: str = "") -> BenchmarkImport:
    """What pgbench or sysbench printed. Raises ImportRefused."""
    caller.require(Role.OPERATOR)
    _refuse_too_long("output", text)
    try:
        read = recognise(text)
    except UnreadableOutputError as error:
        raise ImportRefused("output", str(error)) from error
    return _keep(caller, BenchmarkImport.Kind.OUTPUT, text, name=name or f"Output of {read.tool}", note=note)


def take_example(*, caller: Caller, key: str, name: str = "", note: str = "") -> BenchmarkImport:
    """One of the published results that come with Lifeguard. Raises ImportRefused."""
    texts = published_texts()
    if key not in texts:
        raise ImportRefused("example", f"{key[:80]!r} is none; there are {', '.join(texts)}")
    return take_document(caller=caller, text=texts[key], name=name, note=note)


def remove(*, caller: Caller, imported: BenchmarkImport) -> None:
    caller.require(Role.OPERATOR)
    with transaction.atomic():
        _record(caller, imported, "removed")
        imported.delete()


def _refuse_too_long(field: str, text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise ImportRefused(field, f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are taken")
    if "\0" in text:
        raise ImportRefused(field, "has a NUL character, which no text has")


def _keep(caller: Caller, kind: str, text: str, *, name: str, note: str) -> BenchmarkImport:
    if BenchmarkImport.objects.filter(organisation=caller.organisation).count() >= MOST_KEPT:
        raise ImportRefused("name", f"would be one too many: {MOST_KEPT:,} imports are kept. Remove some first.")
    with transaction.atomic():
        imported = BenchmarkImport.objects.create(
            organisation=caller.organisation,
            name=name.strip()[:200],
            kind=kind,
            text=text,
            note=note.strip(),
            imported_by=caller.user,
            imported_by_name=caller.user.shown_name,
        )
        found = detail_answer(imported)
        imported.results_count, imported.flagged = found["results_count"], found["flagged"]
        imported.save(update_fields=["results_count", "flagged"])
        _record(caller, imported, "taken")
    return imported


def _record(caller: Caller, imported: BenchmarkImport, what: str) -> None:
    audit.record(
        caller=caller,
        action=f"benchmarks.import.{what}",
        target_type="benchmark_import",
        target_id=imported.pk,
        target_name=imported.name,
        after={"kind": imported.kind},
    )

"""One list of functions for all databases behind a pgpool, since pgpool.conf has none for a single database.

With a write_function_list pgpool asks no catalog any more, of no database. So as soon as one database needs the list,
it names what writes in the others, too, also where they are marked rightly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.clusters.domain.function_lists import SEPARATOR
from apps.clusters.domain.write_functions import Proposal, patterns_of


@dataclass(frozen=True, slots=True)
class Writer:
    """A function that writes, or may: one that is VOLATILE and cannot be read. signature: for people."""

    schema: str
    name: str
    signature: str


@dataclass(frozen=True, slots=True)
class ReadDatabase:
    """write_function_list: what is proposed of this database alone, None where its catalog is right as it is.

    unlisted: writers that no pattern can name, as that proposal has them. writers: all of its own.
    """

    name: str
    write_function_list: str | None
    unlisted: tuple[str, ...]
    writers: tuple[Writer, ...]


def propose_for_all(databases: Sequence[ReadDatabase]) -> Proposal:
    """What all of them need; None where pgpool had better go on asking their catalogs."""
    if all(one.write_function_list is None for one in databases):
        return Proposal(None, ())
    named: set[str] = set()
    unlisted: set[str] = set()
    for one in databases:
        named |= {item for item in (one.write_function_list or "").split(SEPARATOR) if item}
        unlisted |= {_in(one, signature, databases) for signature in one.unlisted}
        for writer in one.writers:
            patterns = patterns_of(writer.schema, writer.name)
            named |= patterns
            if not patterns:
                unlisted.add(_in(one, writer.signature, databases))
    return Proposal(SEPARATOR.join(sorted(named)), tuple(sorted(unlisted)))


def _in(database: ReadDatabase, signature: str, databases: Sequence[ReadDatabase]) -> str:
    return signature if len(databases) == 1 else f"{signature} of {database.name}"


def unread(existing: Sequence[str], read: Sequence[str]) -> list[str]:
    """Databases that nobody has read, in the order of their names."""
    return sorted(set(existing) - set(read))


def warning(missing: Sequence[str] | None, read: Sequence[str]) -> str:
    """What the list does to databases that were not read. missing: None where nobody knows which there are."""
    what = "writes in a database that was not read is sent to standbys once this list stands in pgpool.conf"
    if missing is None:
        return (
            f"Which databases there are besides {_some(read)} is not known, as they were read before that was asked: "
            f"have one surveyed again. What {what}, unless the list names it."
        )
    if not missing:
        return ""
    was, it = ("was", "it") if len(missing) == 1 else ("were", "them")
    return f"{_some(missing)} {was} not read: have {it} surveyed first. What {what}, unless the list names it."


def _some(names: Sequence[str]) -> str:
    shown = list(names[:10])
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown)} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))

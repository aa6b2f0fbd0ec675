"""Brings every encrypted column under the newest key, row by row: it can be stopped and started again at any time."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import apps
from django.db import connection
from psycopg import sql

from apps.accounts.encryption import EncryptedTextField, SecretUnreadable, is_newest, reencrypted

BATCH = 200


@dataclass(frozen=True)
class ColumnRotated:
    """secrets: how many the column holds; rotated: how many of them an older key had encrypted."""

    table: str
    column: str
    secrets: int
    rotated: int


def rotate_everything() -> Iterator[ColumnRotated]:
    """Raises SecretUnreadable for a row that none of the keys opens; the columns before it are done by then."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, EncryptedTextField):
                yield _rotate_column(model._meta.db_table, str(model._meta.pk.column), str(field.column))


def _rotate_column(table: str, key: str, column: str) -> ColumnRotated:
    names = {"table": sql.Identifier(table), "key": sql.Identifier(key), "column": sql.Identifier(column)}
    # Compared and set: a secret that is changed meanwhile is written under the newest key anyway.
    write = sql.SQL("UPDATE {table} SET {column} = %s WHERE {key} = %s AND {column} = %s").format(**names)
    secrets = rotated = 0
    for row_key, ciphertext in _stored(names):
        secrets += 1
        if is_newest(ciphertext):
            continue
        try:
            renewed = reencrypted(ciphertext)
        except SecretUnreadable as error:
            raise SecretUnreadable(f"{table} {row_key}, {column}: {error}") from None
        with connection.cursor() as cursor:
            cursor.execute(write, [renewed, row_key, ciphertext])
            rotated += cursor.rowcount
    return ColumnRotated(table, column, secrets, rotated)


def _stored(names: dict[str, sql.Identifier]) -> Iterator[tuple[int, str]]:
    """(key, ciphertext) of every row that holds one, past Django's field, which would decrypt."""
    read = sql.SQL(
        "SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL AND {key} > %s ORDER BY {key} LIMIT %s"
    ).format(**names)
    latest = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(read, [latest, BATCH])
            rows = cursor.fetchall()
        if not rows:
            return
        yield from rows
        latest = rows[-1][0]

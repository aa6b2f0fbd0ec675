"""The bytes of PostgreSQL's protocol 3 and of PCP, as far as a fake pgpool needs them."""

import asyncio
import hashlib
import struct
from collections.abc import Sequence

Row = Sequence[str | None]
TEXT_OID = 0  # pgpool gives its columns no type

READY = b"Z" + struct.pack("!i", 5) + b"I"


def message(kind: bytes, payload: bytes) -> bytes:
    return kind + struct.pack("!i", len(payload) + 4) + payload


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return kind, await reader.readexactly(length - 4)


def error(words: str, code: str = "XX000", detail: str = "") -> bytes:
    fields = [f"SFATAL\0VFATAL\0C{code}\0M{words}\0", f"D{detail}\0" if detail else ""]
    if code == "42704":
        fields[0] = fields[0].replace("FATAL", "ERROR")
    return message(b"E", "".join(fields).encode() + b"\0")


def table(names: Sequence[str], rows: Sequence[Row], *, is_header_twice: bool = False) -> bytes:
    """is_header_twice: a fault of Pgpool-II before 4.3.6 in two commands, which clients see as two result sets."""
    header = struct.pack("!h", len(names))
    for name in names:
        header += name.encode() + b"\0" + struct.pack("!ihihih", 0, 0, TEXT_OID, -1, -1, 0)
    answer = message(b"T", header) * (2 if is_header_twice else 1)
    for row in rows:
        values = b"".join(
            struct.pack("!i", -1) if value is None else struct.pack("!i", len(value.encode())) + value.encode()
            for value in row
        )
        answer += message(b"D", struct.pack("!h", len(row)) + values)
    return answer + message(b"C", b"SELECT\0")


def md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).hexdigest().encode()

"""The five published benchmarks that come with Lifeguard, in its import format: apps/benchmarks/published."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from apps.benchmarks.domain.imported import ImportedDocument, read_document

FILES = Path(__file__).parents[1] / "published"


@cache
def published_texts() -> dict[str, str]:
    """By the name of the document, as anybody could import them."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(FILES.glob("*.json"))}


@cache
def published() -> dict[str, ImportedDocument]:
    return {name: read_document(text) for name, text in published_texts().items()}

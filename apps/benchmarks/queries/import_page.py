"""An import as its page draws it: the table that the source printed, each figure with what is wrong with it."""

from __future__ import annotations

from typing import TypedDict

from apps.benchmarks.queries.imports import CheckAnswer, ImportDetail, RecomputedAnswer, is_wrong


class Cell(TypedDict):
    """printed: "" where the source prints none."""

    printed: str
    is_slip: bool
    note: str


class Row(TypedDict):
    name: str
    conditions: str
    cells: list[Cell]
    note: str


class Wrong(TypedDict):
    """One thing to know: what it is of, and the sentence."""

    where: str
    sentence: str


class ShownImport(TypedDict):
    headers: list[str]
    rows: list[Row]
    wrong: list[Wrong]
    held: int
    not_checked: int


def shown_import(found: ImportDetail) -> ShownImport:
    names = [column["name"] for column in found["columns"]]
    rows: list[Row] = []
    wrong: list[Wrong] = []
    held = left = 0
    for result in found["results"]:
        by_column = {figure["column"]: figure for figure in result["figures"]}
        cells: list[Cell] = []
        for name in names:
            figure = by_column.get(name)
            cells.append(
                {
                    "printed": "" if figure is None else figure["printed"],
                    "is_slip": figure is not None and figure["is_slip"],
                    "note": "" if figure is None else figure["note"] or "",
                }
            )
            if figure is not None and figure["is_slip"]:
                said = figure["note"] or f"“{figure['printed']}” is printed; it is marked as a slip of the source."
                wrong.append({"where": f"{result['name']}, {name}", "sentence": said})
        rows.append(
            {"name": result["name"], "conditions": _conditions(result), "cells": cells, "note": result["note"] or ""}
        )
        wrong += [_failed(result["name"], check) for check in result["checks"] if not check["ok"]]
        held += sum(check["ok"] for check in result["checks"])
        left += len(result["not_checked"])
    wrong += [_disagrees(one) for one in found["recomputed"] if is_wrong(one)]
    headers = [
        f"{column['header'] or column['name']}" + (f", {column['unit']}" if column["unit"] != "1" else "")
        for column in found["columns"]
    ]
    return {"headers": headers, "rows": rows, "wrong": wrong, "held": held, "not_checked": left}


def _conditions(result: object) -> str:
    """topology, clients, threads, seconds, runs: what is known of them."""
    told: dict[str, object] = dict(result)  # type: ignore[call-overload]  # a TypedDict
    words = [
        str(told["topology"] or ""),
        f"{told['clients']} clients" if told["clients"] else "",
        f"{told['threads']} threads" if told["threads"] else "",
        f"{told['duration_s']:g} s" if told["duration_s"] else "",
        f"{told['runs']} runs" if isinstance(told["runs"], int) and told["runs"] > 1 else "",
    ]
    return ", ".join(word for word in words if word)


def _failed(name: str, check: CheckAnswer) -> Wrong:
    return {"where": f"{name}, {check['check']}", "sentence": check["sentence"]}


def _disagrees(one: RecomputedAnswer) -> Wrong:
    what = "difference" if one["kind"] == "difference" else "percentage"
    odd = ", which is no number" if one["agrees"] is None else ""
    return {
        "where": f"{one['result']}, {one['header'] or what}",
        "sentence": f"The source prints {one['printed']}{odd}; the {what} of {one['column']} is {one['recomputed']}.",
    }

"""Functions whose body nobody could read, and which go to standbys since they are not marked VOLATILE."""

from collections.abc import Mapping
from typing import TypedDict

from apps.clusters.control.function_survey import SurveyResult
from apps.clusters.domain import function_verdict
from apps.clusters.domain.write_functions import VOLATILE, VOLATILITIES


class TrustedFunction(TypedDict):
    """volatility: its mark, STABLE or IMMUTABLE. why: what kept it from being read."""

    database: str
    schema: str
    name: str
    arguments: str
    language: str
    volatility: str
    why: str


class TrustedAnswer(TypedDict):
    """sentence: what that means, empty without any. functions: of the newest reading of each database."""

    sentence: str
    functions: list[TrustedFunction]


def trusted_answer(results: Mapping[str, SurveyResult]) -> TrustedAnswer:
    """results: database -> what its newest reading found."""
    functions = [one for database in sorted(results) for one in _of_database(database, results[database])]
    is_list_proposed = any(result["write_function_list"] is not None for result in results.values())
    names = [one["database"] for one in functions]
    return {"sentence": function_verdict.trusted(names, is_list_proposed=is_list_proposed), "functions": functions}


def _of_database(database: str, result: SurveyResult) -> list[TrustedFunction]:
    return [
        {
            "database": database,
            "schema": one["schema"],
            "name": one["name"],
            "arguments": one["arguments"],
            "language": one["language"],
            "volatility": one["volatility"],
            "why": one["why"],
        }
        for one in result["findings"]
        if one["kind"] == "unreadable" and one["volatility"] != VOLATILITIES[VOLATILE]
    ]

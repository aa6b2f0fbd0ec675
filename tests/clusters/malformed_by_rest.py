"""Every malformed configuration by every road of the REST interface: edited into a file by hand, or asked for."""

from collections.abc import Iterator
from typing import Any

from rest_framework.test import APIClient

from tests.clusters.domain.malformed import Malformed

REST = "/api/v1/clusters/orders/"
# On no line of any case, so that it mends none.
UNCONCERNED = {"child_life_time": "90"}


def said_of_the_edit(client: APIClient, case: Malformed, *, name: str) -> Iterator[str]:
    """What is not refused, or not in the right words, while the case stands in the file of the pgpool of this name."""
    asked = {"parameters": UNCONCERNED, "base": "live"}
    validated = client.post(f"{REST}validate/", asked, format="json").json()
    named = [one for one in validated["findings"] if _names(one, case)]
    if validated["ok"] or not named:
        yield f"validate: {validated}"
    elif not all(name in one["message"] for one in named):
        yield f"validate names no pgpool: {named}"
    roads = {
        "parameters": client.put(f"{REST}parameters/", asked, format="json"),
        "weights": client.put(f"{REST}weights/", {"base": "live"}, format="json"),
    }
    if not case.is_adoptable:
        roads["adopt"] = client.post(f"{REST}drift/adopt/", {}, format="json")
    yield from _not_refused(roads)
    refused = roads["parameters"].json()["detail"]
    # A file that names other backends than are registered is not looked into any further.
    names_others = case.parameter.startswith("backend_hostname")
    remedy = "Check that this is the file" if names_others else case.remedy
    if name not in refused or remedy not in refused:
        yield f"parameters: {refused}"


def said_of_the_wish(client: APIClient, case: Malformed) -> Iterator[str]:
    """What is not refused where the case is asked for, while sound files stand everywhere."""
    if not case.wish:
        return
    answer = client.post(f"{REST}validate/", {"parameters": case.wish}, format="json")
    # JSON with a sign that no text can hold is refused at the door, before there are parameters in it.
    if answer.status_code != 400:
        yield from _not_found_wrong(answer.json(), case)
    yield from _not_refused({"parameters": client.put(f"{REST}parameters/", {"parameters": case.wish}, format="json")})


def _not_found_wrong(validated: dict[str, Any], case: Malformed) -> Iterator[str]:
    errors = [one for one in validated["findings"] if one["severity"] == "error"]
    if validated["ok"] or not all(one["parameter"] and one["suggestion"] for one in errors):
        yield f"validate: {validated}"
    if case.parameter not in {one["parameter"] for one in errors}:
        yield f"validate names another: {errors}"


def _names(found: dict[str, Any], case: Malformed) -> bool:
    place = (found["parameter"], found["line"]) == (case.parameter, case.line)
    return place and found["severity"] == "error" and case.remedy in (found["suggestion"] or "")


def _not_refused(answers: dict[str, Any]) -> Iterator[str]:
    for road, answer in answers.items():
        if answer.status_code not in {400, 409}:
            yield f"{road}: {answer.status_code} {answer.content.decode()[:200]}"

"""The description of the REST interface: complete, of this version, with its errors and its ways to sign in."""

import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS

from apps.clusters.domain.guards import Guards
from apps.clusters.domain.rollout_waves import Plan
from apps.clusters.models import InstanceConfig, Rollout, RolloutStep
from controlplane import __version__


@pytest.fixture(scope="module")
def description():
    answer = Client().get("/api/v1/schema/")
    assert answer.status_code == 200
    return answer.json()


def test_it_is_of_this_version(description):
    assert description["info"]["version"] == __version__


def test_it_tells_how_to_sign_in(description):
    assert description["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert set(description["components"]["securitySchemes"]) == {"token", "session"}


def test_every_operation_may_answer_with_a_problem(description):
    operations = [each for path in description["paths"].values() for each in path.values()]

    assert len(operations) >= 5
    for operation in operations:
        assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_every_operation_says_what_it_does_or_answers(description):
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation["operationId"], (path, method)
            assert operation.get("summary") or operation.get("description"), (path, method)


def untyped(schema: dict[str, Any], where: str) -> Iterator[str]:
    """The properties, at any depth, of which nothing is said."""
    for name, each in schema.get("properties", {}).items():
        if not {"type", "$ref", "oneOf", "allOf", "anyOf"} & set(each):
            yield f"{where}.{name}"
        yield from untyped(each, f"{where}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from untyped(schema[key], f"{where}[]")
    for key in ("oneOf", "allOf", "anyOf"):
        for each in schema.get(key, []):
            yield from untyped(each, where)


def test_every_property_has_a_type(description):
    found = [each for name, schema in description["components"]["schemas"].items() for each in untyped(schema, name)]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            for answer in [operation.get("requestBody", {}), *operation["responses"].values()]:
                for content in answer.get("content", {}).values():
                    found += untyped(content["schema"], f"{method} {path} ")

    assert found == []


def test_states_are_described_one_by_one(description):
    def answered(path: str) -> dict[str, Any]:
        answer = description["paths"][f"/api/v1/{path}"]["get"]["responses"]["200"]
        return answer["content"]["application/json"]["schema"]["properties"]

    drift, rollout = answered("clusters/{slug}/drift/"), answered("rollouts/{id}/")
    agreement = answered("clusters/{slug}/disagreements/")["state"]["enum"]
    assert sorted(agreement) == ["agree", "collecting", "disagree", "stale"]
    assert drift["state"]["enum"] == InstanceConfig.State.values
    assert drift["instances"]["items"]["properties"]["state"]["enum"] == InstanceConfig.State.values
    assert rollout["state"]["enum"] == Rollout.State.values
    assert rollout["steps"]["items"]["properties"]["state"]["enum"] == RolloutStep.State.values


def test_a_plan_is_described_with_all_of_its_fields(description):
    schemas = description["components"]["schemas"]

    assert set(schemas["PlanShape"]["properties"]) == {each.name for each in fields(Plan)}
    guards, usual = schemas["GuardsShape"]["properties"], asdict(Guards())
    assert {name: each["default"] for name, each in guards.items()} == usual


def test_a_new_token_is_described_with_its_secret(description):
    made = description["paths"]["/api/v1/tokens/"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]

    assert made == {"$ref": "#/components/schemas/NewTokenShape"}
    assert "token" in description["components"]["schemas"]["NewTokenShape"]["properties"]


def test_it_is_drawn_up_without_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    GENERATOR_STATS.reset()

    call_command("spectacular", "--validate", "--fail-on-warn", "--file", os.devnull)

    assert capsys.readouterr().err == ""

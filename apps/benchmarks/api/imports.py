"""REST: results of others, published or pasted."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.benchmarks.api.problems import as_problems
from apps.benchmarks.control import imports
from apps.benchmarks.queries.imports import (
    ExampleAnswer,
    ImportDetail,
    ImportSummary,
    detail_answer,
    examples,
    import_of,
    imports_of,
    summary_answer,
)
from apps.clusters.api import reading, shapes
from apps.clusters.api.strict import StrictSerializer

KINDS = ("document", "output", "example")


@extend_schema_field({"oneOf": [{"type": "object"}, {"type": "string"}]})
class DocumentField(serializers.JSONField):
    """An object, or its text."""


class ImportInput(StrictSerializer):
    """One of document, output and example."""

    document = DocumentField(
        required=False, help_text="in the import format (docs/import-format.md): an object, or its text"
    )
    output = serializers.CharField(
        required=False, trim_whitespace=False, help_text="what pgbench or sysbench printed, whole"
    )
    example = serializers.CharField(required=False, help_text="a key of benchmarks/imports/examples/")
    name = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)


class ImportsView(APIView):
    @extend_schema(
        operation_id="benchmarks_imports_list",
        parameters=[shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(ImportSummary, 400),
    )
    def get(self, request: Request) -> Response:
        """Imported results of the organisation, latest first."""
        caller = caller_of(request)
        before, limit = reading.page_bounds(request)
        found = imports_of(caller=caller)
        if before is not None:
            found = found.filter(pk__lt=before)
        page = list(found[: limit + 1])
        shown = page[:limit]
        return Response(
            {
                "results": [summary_answer(each) for each in shown],
                "next": reading.next_page(request, before=shown[-1].pk if len(page) > limit else None),
            }
        )

    @extend_schema(
        operation_id="benchmarks_imports_create",
        request=ImportInput,
        responses=shapes.answer(ImportDetail, 400, status=201),
    )
    def post(self, request: Request) -> Response:
        """Take results in, whole or not at all: a document, the output of pgbench or sysbench, or an example.

        Each result is checked, and columns that the source derived are recomputed beside what it printed.
        """
        caller = caller_of(request)
        body = ImportInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = dict(body.validated_data)
        kinds = [kind for kind in KINDS if kind in given]
        if len(kinds) != 1:
            told = " and ".join(kinds) or "none of them"
            raise ValidationError({"non_field_errors": [f"give one of {', '.join(KINDS)}; found {told}"]})
        shared = {"caller": caller, "name": given["name"], "note": given["note"]}
        with as_problems():
            if "example" in given:
                made = imports.take_example(key=given["example"], **shared)
            elif "output" in given:
                made = imports.take_output(text=given["output"], **shared)
            else:
                made = imports.take_document(text=_text_of(given["document"]), **shared)
        return Response(detail_answer(made), status=status.HTTP_201_CREATED)


class ExamplesView(APIView):
    @extend_schema(operation_id="benchmarks_imports_examples", responses=shapes.page_of(ExampleAnswer))
    def get(self, request: Request) -> Response:
        """Published results that come with Lifeguard."""
        caller_of(request)
        return Response({"results": examples(), "next": None})


class ImportView(APIView):
    @extend_schema(operation_id="benchmarks_imports_read", responses=shapes.answer(ImportDetail, 404))
    def get(self, request: Request, pk: int) -> Response:
        """One import: its results as printed, what the checks say of them, derived columns recomputed."""
        return Response(detail_answer(import_of(caller=caller_of(request), pk=pk)))

    @extend_schema(operation_id="benchmarks_imports_remove", responses=shapes.answer(None, 404, status=204))
    def delete(self, request: Request, pk: int) -> Response:
        """Forget it, with its checks; what was measured here stays."""
        caller = caller_of(request)
        imports.remove(caller=caller, imported=import_of(caller=caller, pk=pk))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _text_of(document: Any) -> str:
    """Numbers keep the digits that they have as JSON; a text in it keeps all."""
    return document if isinstance(document, str) else json.dumps(document)

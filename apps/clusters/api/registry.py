"""REST: what is registered as YAML, out and in."""

from typing import Any, TypedDict

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import shapes
from apps.clusters.api.registration_inputs import cluster_wanted
from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.domain import registry_yaml
from apps.clusters.registry.registry_export import export_yaml
from apps.clusters.registry.registry_import import Imported, import_clusters
from controlplane.problems import invalid


class RegistryAnswer(TypedDict):
    """yaml: all clusters; in place of each secret the name under which the import takes it."""

    yaml: str


class ImportAnswer(TypedDict):
    dry_run: bool
    results: list[Imported]


class RegistryInput(StrictSerializer):
    yaml = serializers.CharField(max_length=registry_yaml.LARGEST_BYTES, trim_whitespace=False)
    secrets = serializers.DictField(
        child=serializers.CharField(max_length=1000, trim_whitespace=False),
        required=False,
        default=dict,
        write_only=True,
        help_text="name -> secret, for each password: {env: NAME} of the file",
    )
    dry_run = StrictBoolean(required=False, default=False)


class RegistryView(APIView):
    write_role = Role.ADMIN

    @extend_schema(
        operation_id="clusters_registry_export",
        parameters=[shapes.ORGANISATION],
        responses=shapes.answer(RegistryAnswer),
    )
    def get(self, request: Request) -> Response:
        """All that is registered, without secrets; importing it again changes nothing."""
        return Response({"yaml": export_yaml(caller_of(request).organisation)})

    @extend_schema(
        operation_id="clusters_registry_import",
        request=RegistryInput,
        responses=shapes.answer(ImportAnswer, 400),
    )
    def post(self, request: Request) -> Response:
        """Register and change clusters as the file says, each whole or not at all; with dry_run, say what would be."""
        form = RegistryInput(data=request.data)
        form.is_valid(raise_exception=True)
        given: dict[str, Any] = form.validated_data
        try:
            entries = registry_yaml.load(given["yaml"])
        except registry_yaml.RegistryUnreadable as error:
            invalid(yaml=str(error))
        results = import_clusters(
            caller=caller_of(request),
            entries=entries,
            secrets=given["secrets"],
            read=cluster_wanted,
            is_dry_run=given["dry_run"],
            now=timezone.now(),
        )
        return Response({"dry_run": given["dry_run"], "results": results})

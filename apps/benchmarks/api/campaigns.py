"""REST: campaigns, which measure the same comparison by a schedule."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.benchmarks.api.comparisons import ArmInput, merged_arms
from apps.benchmarks.api.number_fields import NumberField
from apps.benchmarks.api.problems import as_problems
from apps.benchmarks.api.runs import CLUSTER, MOST
from apps.benchmarks.control import campaigns
from apps.benchmarks.queries.campaigns import (
    CampaignDetail,
    CampaignSummary,
    campaign_of,
    campaigns_of,
    detail_answer,
    summary_answer,
)
from apps.clusters.api import reading, shapes
from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.queries import lookup


class CampaignInput(StrictSerializer):
    cluster = serializers.CharField(help_text="its slug")
    name = serializers.CharField(max_length=200)
    common = ArmInput(required=False, help_text="what all arms share")
    arms = serializers.ListField(child=ArmInput(), help_text="2 to 12; each as a run, over `common`")
    repetitions = serializers.IntegerField(required=False, default=6, help_text="blocks that count in each round")
    baseline = serializers.IntegerField(required=False, default=0, help_text="position of the arm to compare with")
    over = serializers.CharField(required=False, allow_blank=True, default="", help_text="as of comparisons")
    margin_percent = NumberField(required=False, default=5.0, help_text="the smallest change that matters, 0.01–100")
    cron = serializers.CharField(
        max_length=100, help_text="minute hour day month weekday in UTC, as 0 2 * * *; day and weekday both hold"
    )
    window_min = serializers.IntegerField(
        min_value=1, max_value=MOST, help_text="minutes after which no run of a round begins any more"
    )
    budget_min = serializers.IntegerField(min_value=1, max_value=MOST, help_text="minutes of load a round may make")


class CampaignChange(StrictSerializer):
    is_paused = StrictBoolean(help_text="true: no round begins any more; false: rounds begin by the schedule again")


class CampaignsView(APIView):
    @extend_schema(
        operation_id="benchmarks_campaigns_list",
        parameters=[CLUSTER, shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(CampaignSummary, 400, 404),
    )
    def get(self, request: Request) -> Response:
        """Campaigns of the organisation, latest first."""
        caller = caller_of(request)
        before, limit = reading.page_bounds(request)
        slug = request.query_params.get("cluster")
        found = campaigns_of(caller=caller, cluster=lookup.cluster_of(caller=caller, slug=slug) if slug else None)
        if before is not None:
            found = found.filter(pk__lt=before)
        page = list(found[: limit + 1])
        shown = page[:limit]
        return Response(
            {
                "results": [summary_answer(campaign=each, caller=caller) for each in shown],
                "next": reading.next_page(request, before=shown[-1].pk if len(page) > limit else None),
            }
        )

    @extend_schema(
        operation_id="benchmarks_campaigns_create",
        request=CampaignInput,
        responses=shapes.answer(CampaignDetail, 400, 404, 409, status=201),
    )
    def post(self, request: Request) -> Response:
        """Measure a comparison again and again by a schedule, each round within its window and its budget of load."""
        caller = caller_of(request)
        body = CampaignInput(data=request.data)
        body.is_valid(raise_exception=True)
        given: dict[str, Any] = dict(body.validated_data)
        arms = merged_arms(given)
        cluster = lookup.cluster_of(caller=caller, slug=given.pop("cluster"))
        with as_problems():
            made = campaigns.create(caller=caller, cluster=cluster, arms=arms, now=timezone.now(), **given)
        return Response(detail_answer(campaign=made, caller=caller), status=status.HTTP_201_CREATED)


class CampaignView(APIView):
    @extend_schema(operation_id="benchmarks_campaigns_read", responses=shapes.answer(CampaignDetail, 404))
    def get(self, request: Request, pk: int) -> Response:
        """One campaign: when it is due, its rounds, and how each arm went from round to round."""
        caller = caller_of(request)
        return Response(detail_answer(campaign=campaign_of(caller=caller, pk=pk), caller=caller))

    @extend_schema(
        operation_id="benchmarks_campaigns_change",
        request=CampaignChange,
        responses=shapes.answer(CampaignDetail, 400, 404, 409),
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Pause it, or go on. A round that is under way goes on either way."""
        caller = caller_of(request)
        campaign = campaign_of(caller=caller, pk=pk)
        body = CampaignChange(data=request.data)
        body.is_valid(raise_exception=True)
        if "is_paused" not in body.validated_data:
            raise ValidationError({"is_paused": ["is needed"]})
        with as_problems():
            if body.validated_data["is_paused"]:
                campaigns.pause(caller=caller, campaign=campaign)
            else:
                campaigns.resume(caller=caller, campaign=campaign, now=timezone.now())
        return Response(detail_answer(campaign=campaign_of(caller=caller, pk=pk), caller=caller))

    @extend_schema(operation_id="benchmarks_campaigns_remove", responses=shapes.answer(None, 404, status=204))
    def delete(self, request: Request, pk: int) -> Response:
        """No round begins any more. Comparisons that it made stay."""
        caller = caller_of(request)
        campaigns.remove(caller=caller, campaign=campaign_of(caller=caller, pk=pk), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class CampaignRoundsView(APIView):
    @extend_schema(
        operation_id="benchmarks_campaigns_begin",
        request=None,
        responses=shapes.answer(CampaignDetail, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Begin a round now, beside the schedule."""
        caller = caller_of(request)
        campaign = campaign_of(caller=caller, pk=pk)
        with as_problems():
            campaigns.begin_now(caller=caller, campaign=campaign, now=timezone.now())
        answer = detail_answer(campaign=campaign_of(caller=caller, pk=pk), caller=caller)
        return Response(answer, status=status.HTTP_202_ACCEPTED)

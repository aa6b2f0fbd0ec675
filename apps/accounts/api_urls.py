"""REST addresses of accounts, below /api/v1/."""

from django.urls import path

from apps.accounts import api

urlpatterns = [
    path("me/", api.MeView.as_view(), name="api-me"),
    path("tokens/", api.TokenListView.as_view(), name="api-tokens"),
    path("tokens/<int:token_id>/", api.TokenView.as_view(), name="api-token"),
    path("audit/", api.AuditView.as_view(), name="api-audit"),
]

"""Addresses of the REST interface of the query cache, below /api/v1/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

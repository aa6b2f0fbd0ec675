"""Pages of the query cache, below /o/<organisation>/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

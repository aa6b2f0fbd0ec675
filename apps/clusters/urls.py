"""Pages of clusters, below /o/<organisation>/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

"""Pages of the fleet, below /o/<organisation>/."""

from django.urls import path

from apps.fleet import views

urlpatterns = [
    path("", views.fleet, name="fleet"),
]

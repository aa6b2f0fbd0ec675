"""Settings of an organisation, below /o/<organisation>/."""

from django.urls import path

from apps.accounts.views import audit_pages, token_pages

urlpatterns = [
    path("settings/", token_pages.settings_home, name="settings"),
    path("settings/tokens/", token_pages.token_list, name="token-list"),
    path("settings/tokens/create/", token_pages.token_create, name="token-create"),
    path("settings/tokens/<int:token_id>/revoke/", token_pages.token_revoke, name="token-revoke"),
    path("settings/audit/", audit_pages.audit_list, name="audit-list"),
]

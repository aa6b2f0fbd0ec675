"""How OpenAPI describes signing in: a token as Bearer, or the session of the dashboard."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BearerToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # drf-spectacular registers by subclass
    target_class = "apps.accounts.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token of a member (Settings, API tokens): `Authorization: Bearer lg_…`.",
        }


class DashboardSession(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # as above
    target_class = "apps.accounts.tokens.BrowserSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of the dashboard; writes also need the header X-CSRFToken.",
        }

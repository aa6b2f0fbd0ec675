"""Accounts: people, organisations, roles, API tokens, the audit trail and the encryption of secrets."""

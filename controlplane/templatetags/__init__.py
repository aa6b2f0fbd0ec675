"""Formatting for templates."""

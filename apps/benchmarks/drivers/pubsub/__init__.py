"""Publish/subscribe messaging through tables, as a load: a program of its own with processes of its own."""

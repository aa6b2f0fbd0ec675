"""Watching clusters: ask every pgpool and backend, store what they say, tell viewers. `watch.py` is the story."""

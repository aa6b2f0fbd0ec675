"""Measures the running demo: how long a rollout takes, how soon a death is shown, what watching costs the cluster."""

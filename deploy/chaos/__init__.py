"""Kills programs of the running product in the middle of rollouts and looks at what every pgpool runs afterwards."""

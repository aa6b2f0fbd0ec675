"""The applications of Lifeguard, from accounts (lowest) to fleet (highest)."""

"""The demo: a real cluster, Lifeguard's own servers and Lifeguard itself on one machine, all on loopback."""

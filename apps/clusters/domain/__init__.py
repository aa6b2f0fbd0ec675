"""What we know about Pgpool-II, without Django, input, output or a clock."""

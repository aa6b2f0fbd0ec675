"""What we know about results of benchmarks: no Django, no input or output, no clock."""

"""The REST interface of benchmarks."""

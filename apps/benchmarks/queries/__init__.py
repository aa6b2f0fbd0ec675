"""What pages and REST show of benchmarks."""

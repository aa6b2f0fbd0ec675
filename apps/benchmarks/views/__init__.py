"""Pages of benchmarks, below /o/<organisation>/benchmarks/."""

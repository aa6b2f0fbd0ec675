"""Forms of benchmarks: what a person types, as the stories take it; what these refuse, beside its field."""

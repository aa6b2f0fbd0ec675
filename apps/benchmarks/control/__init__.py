"""Stories of benchmarks: what is asked for, and how a worker carries it out."""

"""Load generators: one file each. A command line in, progress and a result out; no Django, no database of ours."""

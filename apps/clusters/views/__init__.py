"""The pages of clusters: each view translates in, makes one call, translates out."""

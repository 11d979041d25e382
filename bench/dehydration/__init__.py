"""How many planted facts survive a dehydration without a model, against plain truncation of the same size."""

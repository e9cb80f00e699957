"""What packaging/gpu-check measures on a GPU; Python 3 and its standard library only."""

"""A tree of labels: similar labels share a branch, and each node learns to choose among its children."""

"""Badly scaled problems for every solver: does its certificate hold?

`problems` draws them, `families` names the solvers with their objectives from the definition, `checks` judges a fit,
and `sweep` runs and counts. ``make test`` has a small form, ``make adversary`` the whole one with a new seed every
time.
"""

"""Definitions, sources and settings of what the commands speak of, and metrics under the rules of other packages."""

from mlrank.explain.certificates import CERTIFICATES, certificates_of
from mlrank.explain.rules import PACKAGES, Rule, rules_of, value_under
from mlrank.explain.topics import Topic, explain, topics
from mlrank.explain.values import values_of

__all__ = [
    "CERTIFICATES",
    "PACKAGES",
    "Rule",
    "Topic",
    "certificates_of",
    "explain",
    "rules_of",
    "topics",
    "value_under",
    "values_of",
]

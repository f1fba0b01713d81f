"""Columns that hold more than a number: text, as counts of terms by scikit-learn's vectoriser, and lists of labels.

Text: a data set holds the counts of all terms. Which of them are features, and how they are weighted, is decided by the
training part of each split: see `mlrank.scaling.TermScaling`. Together this is what a TfidfVectorizer does that is
fitted to the training part, without reading the text again for each split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlrank.scaling import TermBlock

__all__ = ["ListColumn", "TextColumn", "term_blocks"]


@dataclass(frozen=True)
class TextColumn:
    """How a column of text becomes features.

    Parameters
    ----------
    column : str
    max_features : int or None
        The most frequent terms of the training part to be used; None: all that occur in it.
    ngrams : (int, int)
        The least and the most words of a term.
    lowercase : bool
    min_rows : int
        Rows of the training part that a term must occur in.
    """

    column: str
    max_features: int | None = None
    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    min_rows: int = 1

    def counter(self, terms: Sequence[str] | None = None) -> Any:
        """Return scikit-learn's CountVectorizer of these settings, for all terms or for some."""
        from sklearn.feature_extraction.text import CountVectorizer

        vocabulary = None if terms is None else {term: place for place, term in enumerate(terms)}
        return CountVectorizer(ngram_range=self.ngrams, lowercase=self.lowercase, vocabulary=vocabulary)


@dataclass(frozen=True)
class ListColumn:
    """One column that holds the labels of each row.

    Parameters
    ----------
    column : str
    separator : str or None
        What stands between labels; None: the cells are lists, or lists as JSON or Python writes them.
    names : tuple of str or None
        All labels, in order; None: those that occur, sorted.
    """

    column: str
    separator: str | None = None
    names: tuple[str, ...] | None = None


def term_blocks(feature_names: Sequence[str], text: Sequence[TextColumn]) -> tuple[TermBlock, ...]:
    """Return where the terms of each column of text are among the features."""
    found = []
    for column in text:
        places = [place for place, name in enumerate(feature_names) if name.startswith(f"{column.column}~")]
        if places:
            found.append(TermBlock(places[0], places[-1] + 1, column.max_features, column.min_rows))
    return tuple(found)

"""Objects by key, imported when they are asked for: a process loads the parts of the package that it uses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["Imported", "import_object", "is_path"]

T = TypeVar("T")


def import_object(place: str) -> Any:
    """Return the object at "module:Name".

    >>> import_object("fractions:Fraction")(1, 2)
    Fraction(1, 2)
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def is_path(value: object) -> bool:
    """Return whether a value has the form of an import path, "package.module:ClassName".

    >>> is_path("sklearn.svm:SVC"), is_path("a: b"), is_path(3)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    module, colon, name = value.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), name))


@dataclass(frozen=True, eq=False)
class Imported(Mapping[str, T]):
    """A mapping that knows where its objects are; looking at its keys imports nothing.

    Parameters
    ----------
    places : dict
        Of each key the "module:Name" of its object.

    Examples
    --------
    >>> numbers = Imported({"half": "fractions:Fraction", "exact": "decimal:Decimal"})
    >>> list(numbers), "half" in numbers
    (['half', 'exact'], True)
    >>> numbers["half"](1, 2)
    Fraction(1, 2)
    """

    places: dict[str, str]

    def __getitem__(self, key: str) -> T:
        """Import the object of `key`."""
        found: T = import_object(self.places[key])
        return found

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such a key."""
        return key in self.places

    def __iter__(self) -> Iterator[str]:
        """Go through the keys."""
        return iter(self.places)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self.places)

    def key_of(self, found: type[T]) -> str | None:
        """Return the key of a class that one of the objects is, None where there is none."""
        place = f"{found.__module__}:{found.__qualname__}"
        return next((key for key, known in self.places.items() if known == place), None)

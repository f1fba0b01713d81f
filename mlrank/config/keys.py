"""What keys of a configuration are declared with: what the reference says of them, and checks that blocks share."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic_core import PydanticCustomError

__all__ = ["FROZEN", "Count", "Key", "Problem", "Text", "Values", "as_tuple", "key", "raise_all"]

FROZEN = ConfigDict(frozen=True, extra="forbid", strict=True)

# Where inside a block, and what is wrong there.
Problem = tuple[tuple[str | int, ...], str]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Values:
    """What a key takes, in words, where its type does not say it."""

    words: str


@dataclass(frozen=True)
class Key:
    """A key of a block of a configuration.

    Parameters
    ----------
    name, values, default, meaning : str
        `default` is "required" where there is none, "-" where nothing is done if the key is left out.
    example : plain value, None if there is none
    """

    name: str
    values: str
    default: str
    meaning: str
    example: Any


def key(default: Any, meaning: str, example: Any) -> Any:
    """Return the field of a key of a model; `example` is a plain value as YAML has it, None for no example."""
    return Field(default, description=meaning, examples=[] if example is None else [example])


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, and anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


def raise_all(found: list[Problem]) -> None:
    """Raise all problems of a block at once, if there are any."""
    if found:
        raise PydanticCustomError("block", "{problems}", {"problems": found})

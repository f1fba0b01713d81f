"""Estimators inside a method's settings, as mappings: ``estimator: {class: "sklearn.svm:SVC", C: [1, 10]}``.

They are read as settings with both names: ``estimator`` is then the import path and ``estimator__C`` its setting, which
may be a grid like any other; a configuration may write these names itself. A list of estimators, such as the steps of a
pipeline, is numbered: ``steps__0``, ``steps__1__C``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mlrank.config.axes import Where
from mlrank.config.findings import Findings
from mlrank.errors import unknown_name
from mlrank.yamlfile import YamlMapping

__all__ = ["flattened"]

CLASS = "class"
# Of an import path, the names of its parameters, or None where they are not to be looked at.
Parameters = Callable[[str], "list[str] | None"]


def flattened(
    block: YamlMapping, lists: tuple[str, ...], known: Parameters, where: Where, findings: Findings
) -> tuple[YamlMapping, Mapping[str, Where]]:
    """Return settings without mappings inside, and where each of them stands.

    Parameters
    ----------
    block : settings of a method
    lists : the settings that are a list of estimators
    known : gives the names of an estimator's parameters, and raises ValueError where it is none
    where : the place of `block`
    findings : gets what is wrong
    """
    flat: YamlMapping = {}
    places: dict[str, Where] = {}

    def read(name: str, value: Any, place: Where) -> None:
        if isinstance(value, dict):
            read_estimator(name, value, place)
        elif isinstance(value, list) and name.rpartition("__")[2] in lists:
            for i, item in enumerate(value):
                read(f"{name}__{i}", item, (*place, i))
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            message = f"a list of mappings is for {', '.join(lists)}; write one method for each estimator"
            findings(message, *place)
        else:
            place_value(name, value, place)

    def place_value(name: str, value: Any, place: Where) -> None:
        if name in flat:
            findings(f"'{name}' is given twice, once inside a mapping", *place)
        flat[name], places[name] = value, place

    def read_estimator(name: str, value: YamlMapping, place: Where) -> None:
        if CLASS not in value:
            found = unknown_name("key", next(iter(value)), [CLASS]) if value else "found an empty mapping"
            findings(f"an estimator inside needs a key '{CLASS}: \"package.module:ClassName\"'; {found}", *place)
            return
        place_value(name, value[CLASS], (*place, CLASS))
        try:
            names = known(value[CLASS]) if isinstance(value[CLASS], str) else None
        except ValueError as error:
            findings(str(error), *place, CLASS)
            return
        for key, item in value.items():
            if key == CLASS:
                continue
            if names is None or "__" in key or key in names:
                read(f"{name}__{key}", item, (*place, key))
            else:
                message = unknown_name(f"setting of {value[CLASS]}", key, [*names, CLASS])
                findings(message, *place, key, key=True)

    for name, value in block.items():
        read(name, value, (*where, name))
    return flat, places

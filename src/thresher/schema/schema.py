"""The public description of a table of people: its features, in order.

A schema is read by everyone. Write it from what is publicly known about the columns (a code
book, the questionnaire), not from the records: a schema read off private data tells about them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.errors import QueryError, SchemaError
from thresher.files import read_json, write_json
from thresher.schema.features import Feature, feature_from_json
from thresher.schema.labels import is_storable
from thresher.schema.views import View, view_from_json
from thresher.wording import meant, plain, shown

FORMAT = "thresher-schema"
VERSION = 1
LARGEST_WIDTH = 4_000_000
"""Values of all features together. Their labels take some 80 bytes each, which files need not."""


@dataclass(frozen=True)
class Schema:
    """Ordered features, known to everyone.

    Attributes:
        features: The columns of the records.
        views: Coarser views of some of them. Thresholds and queries name a view as they name a
            feature; records, and the synthetic rows, have none.

    Example:
        >>> from thresher.schema.features import Categorical, IntegerRange
        >>> schema = Schema((
        ...     IntegerRange(name="age", low=16, high=100, nulls=16),
        ...     Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
        ... ))
        >>> schema.sizes, schema.width
        ((85, 2), 87)
        >>> Schema.from_json(schema.as_json()) == schema
        True
    """

    features: tuple[Feature, ...]
    views: tuple[View, ...] = ()

    def __init__(self, features: Iterable[Feature], views: Iterable[View] = ()) -> None:
        object.__setattr__(self, "features", tuple(_within_width(features)))
        object.__setattr__(self, "views", tuple(views))
        if not self.features:
            raise SchemaError("a schema needs at least one feature")
        named = Counter(self.all_names)
        twice = sorted(name for name, times in named.items() if times > 1)
        if twice:
            raise SchemaError(f"the schema names a feature twice: {plain(', '.join(twice))}")

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, name: str) -> Feature:
        """The feature or the view of a name."""
        position = self.index(name)
        few = len(self.features)
        return self.features[position] if position < few else self.views[position - few]

    def __repr__(self) -> str:
        return f"Schema({len(self)} features, {self.width} one-hot columns)"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each feature can take."""
        return tuple(feature.size for feature in self.features)

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        """The names of the features, and then of the views."""
        return (*self.names, *(view.name for view in self.views))

    @cached_property
    def all_sizes(self) -> tuple[int, ...]:
        """How many values each feature can take, and then how many groups each view has."""
        return (*self.sizes, *(view.size for view in self.views))

    @property
    def width(self) -> int:
        """The number of one-hot columns: d' in the paper."""
        return sum(self.sizes)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """The first one-hot column of each feature, and then of each view."""
        return np.concatenate(([0], np.cumsum(self.all_sizes)[:-1])).astype(np.int64)

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """The features whose description is still a guess."""
        return tuple(feature.name for feature in self.features if feature.review)

    def index(self, name: str) -> int:
        """The position of a feature; views come after all features.

        Example:
            >>> from thresher.schema import IntegerRange
            >>> Schema([IntegerRange(name="age", low=0, high=99, nulls=0)]).index("age")
            0
        """
        try:
            return self._positions[name]
        except KeyError:
            raise QueryError(
                f"there is no feature {shown(name)}{meant(name, self.all_names)}; the schema has: "
                f"{plain(', '.join(self.all_names))}"
            ) from None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.all_names)}

    def base(self, name: str) -> str:
        """The column that a feature or a view is about.

        Example:
            >>> from thresher.schema import IntegerRange
            >>> age = IntegerRange(name="age", low=0, high=99, nulls=0)
            >>> Schema([age], [View.at_cuts(age, "old", [65])]).base("old")
            'age'
        """
        position = self.index(name) - len(self.features)
        return name if position < 0 else self.views[position].of

    def bases(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns that some features or views are about; each may stand there once."""
        listed = tuple(names)
        columns = tuple(map(self.base, listed))
        if len(set(columns)) < len(columns):
            [twice, *_] = (c for c, times in Counter(columns).items() if times > 1)
            shared = [name for name in listed if self.base(name) == twice]
            raise QueryError(
                f"{plain(', '.join(shared))} are all about the feature {shown(twice)}: name one"
            )
        return columns

    def with_views(self, views: Iterable[View]) -> "Schema":
        """The schema with more views; those that it has already are left out.

        Example:
            >>> from thresher.schema import IntegerRange
            >>> age = IntegerRange(name="age", low=0, high=99, nulls=0)
            >>> Schema([age]).with_views([View.at_cuts(age, "old", [65])])["old"].size
            2
        """
        new = [view for view in views if view not in self.views]
        return Schema(self.features, (*self.views, *new)) if new else self

    def views_from_json(self, value: object) -> "Schema":
        """The schema with the views of a list in JSON values."""
        if not isinstance(value, list):
            raise SchemaError("'views' must be a list")
        columns = {feature.name: feature for feature in self.features}
        return self.with_views(view_from_json(entry, columns) for entry in value)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what the codes mean; review notes and views do not count."""
        described = [{**feature.meaning(), "review": ""} for feature in self.features]
        canonical = json.dumps(described, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The schema as plain JSON values, as `save` writes it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "features": [feature.as_json() for feature in self.features],
            **({"views": [view.as_json() for view in self.views]} if self.views else {}),
        }

    @classmethod
    def from_json(cls, value: object) -> "Schema":
        """Read a schema from plain JSON values, as `as_json` gives them."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise SchemaError(f'this is not a schema: it lacks the entry "format": "{FORMAT}"')
        if value.get("version") != VERSION:
            raise SchemaError(
                f"this schema is of version {shown(value.get('version'))}; "
                f"this thresher reads {VERSION}"
            )
        features = value.get("features")
        if not isinstance(features, list):
            raise SchemaError("the schema's 'features' must be a list")
        return cls(map(feature_from_json, features)).views_from_json(value.get("views", []))

    def save(self, path: str | Path, warning: str = "") -> None:
        """Write the schema as JSON, with a warning to its reader if there is one.

        Example:
            >>> import tempfile
            >>> from thresher.schema import IntegerRange
            >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     schema.save(f"{folder}/schema.json")
            ...     Schema.load(f"{folder}/schema.json") == schema
            True
        """
        if not is_storable(warning):
            raise SchemaError("the warning must be text that can be written as UTF-8")
        write_json(path, {**({"warning": warning} if warning else {}), **self.as_json()})

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a schema file. An error names the file and what is wrong in it."""
        try:
            return cls.from_json(read_json(path, SchemaError))
        except SchemaError as fault:
            raise SchemaError(f"{path}: {fault}") from None

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The published JSON Schema that every schema file obeys."""
        published: dict[str, Any] = json.loads(
            files("thresher.schema").joinpath("schema.schema.json").read_text("utf-8")
        )
        return published


def _within_width(features: Iterable[Feature]) -> Iterator[Feature]:
    """The features, made one by one, until they have too many values."""
    width = 0
    for feature in features:
        width += feature.size
        if width > LARGEST_WIDTH:
            raise SchemaError(
                f"its features have more than {LARGEST_WIDTH:,} values together: describe numbers "
                "by bins"
            )
        yield feature

"""A column of named categories."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.schema.cells import codes_by_spelling, spelling
from thresher.schema.feature import CLIP, LABEL_RULE, Codes, Feature
from thresher.schema.labels import is_label
from thresher.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Categorical(Feature):
    """A column of named categories.

    A cell belongs to the category that its text names, or that names its value: see
    `thresher.schema.cells`.

    Example:
        >>> import pyarrow as pa
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M")
        >>> sex.encode(pa.array(["M", "F", None, "?"])).tolist()
        [1, 0, 1, 1]
    """

    kind: ClassVar[str] = "categorical"

    categories: tuple[str, ...]

    def _check_domain(self) -> None:
        if self.extra:
            raise self._fault("list extra values among its categories")
        if not self.categories:
            raise self._fault("it has no categories: list at least one")
        for category in self.categories:
            if not is_label(category):
                raise self._fault(f"the category {shown(category)} must be {LABEL_RULE}")
        if not isinstance(self.nulls, str):
            raise self._fault("'nulls' must name a category")
        if self.outside == CLIP:
            raise self._fault(
                "categories cannot be clipped; "
                "set 'outside' to the category that stands for all others"
            )

    @property
    def labels(self) -> tuple[str, ...]:
        return self.categories

    def code_of(self, value: object) -> int | None:
        if isinstance(value, str):
            return self._codes.get(value)
        said = spelling(value)
        return None if said is None else self._by_spelling.get(said)

    def codes_between(self, low: float, high: float) -> range | None:
        return None

    def encode(self, column: "pa.Array") -> Codes:
        # Imported here, since Arrow takes long to load and most commands read no column.
        from thresher.schema.coding import label_codes

        codes = label_codes(
            self.name, column, self._by_spelling,
            missing=self._codes[str(self.nulls)], other=self._codes[self.outside],
        )  # fmt: skip
        return codes.astype(self.dtype)

    def decode(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        return np.array(self.categories, dtype=object)[codes]

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {category: code for code, category in enumerate(self.categories)}

    @cached_property
    def _by_spelling(self) -> Mapping[str, int]:
        return codes_by_spelling(self.categories)

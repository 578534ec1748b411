"""A column of named categories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.schema.cells import codes_by_spelling, spelling
from thresher.schema.feature import CLIP, LABEL_RULE, Between, Codes, Feature
from thresher.schema.labels import is_label
from thresher.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Categorical(Feature):
    """A column of named categories.

    A cell belongs to the category that its text names, or that names its value: see
    `thresher.schema.cells`.

    Attributes:
        categories: The categories, in their order.
        ordered: Whether that order means something, as that of grades does. Then `extra` may list
            labels that have no place in it, such as `"unknown"`.
        synonyms: Other spellings, each with the category that it stands for.

    Example:
        >>> import pyarrow as pa
        >>> sex = Categorical(
        ...     name="sex", categories=("F", "M"), synonyms={"male": "M"}, outside="M", nulls="M"
        ... )
        >>> sex.encode(pa.array(["M", "F", None, "?", "male"])).tolist()
        [1, 0, 1, 1, 1]
    """

    kind: ClassVar[str] = "categorical"

    categories: tuple[str, ...]
    ordered: bool = False
    synonyms: Mapping[str, str] = field(default_factory=dict, hash=False)

    def _check_domain(self) -> None:
        if not isinstance(self.ordered, bool):
            raise self._fault(f"'ordered' must be true or false, not {shown(self.ordered)}")
        if self.extra and not self.ordered:
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
        self._check_synonyms()

    def _check_synonyms(self) -> None:
        if not isinstance(self.synonyms, Mapping):
            raise self._fault("'synonyms' must give a category for each spelling")
        known = {*self.categories, *map(str, self.extra)}
        for said, category in self.synonyms.items():
            if not is_label(said):
                raise self._fault(f"the synonym {shown(said)} must be {LABEL_RULE}")
            if said in known:
                raise self._fault(f"the synonym {shown(said)} is one of its values itself")
            if not isinstance(category, str) or category not in known:
                raise self._fault(
                    f"the synonym {shown(said)} stands for {shown(category)}, which is none of its "
                    "categories"
                )
        object.__setattr__(self, "synonyms", dict(self.synonyms))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return (*self.categories, *self.extra)

    @property
    def has_order(self) -> bool:
        return self.ordered

    def code_of(self, value: object) -> int | None:
        if isinstance(value, str):
            return self._codes.get(self.synonyms.get(value, value))
        said = spelling(value)
        return None if said is None else self._by_spelling.get(said)

    def between(
        self, low: object, high: object, *, after: bool = False, before: bool = False
    ) -> Between | None:
        last = len(self.categories) - 1
        begin = 0 if low is None else self.code_of(low)
        end = last if high is None else self.code_of(high)
        if not self.ordered or begin is None or end is None or max(begin, end) > last:
            return None
        begin += low is not None and after
        end -= high is not None and before
        return Between(range(begin, end + 1), is_exact=True)

    def encode(self, column: "pa.Array") -> Codes:
        # Imported here, since Arrow takes long to load and most commands read no column.
        from thresher.schema.coding import label_codes

        codes = label_codes(
            self.name, column, self._by_spelling,
            missing=self._policy_code("nulls", self.nulls),
            other=self._policy_code("outside", self.outside),
        )  # fmt: skip
        return codes.astype(self.dtype)

    def _values(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        return np.array(self.categories, dtype=object)[codes]

    def _pandas_type(self) -> Any:
        if not self.ordered:
            return None
        import pandas as pd

        return pd.CategoricalDtype(list(self.categories), ordered=True)

    def _says_value(self, text: str) -> bool:
        return False

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _by_spelling(self) -> Mapping[str, int]:
        return codes_by_spelling(self.labels, synonyms=self.synonyms)

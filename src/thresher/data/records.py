"""The private records, coded: one small unsigned integer per cell, one array per feature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from thresher.data.counting import counted
from thresher.data.private import FeatureSet, Progress
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.features import Codes
from thresher.tables.sparse import SparseTable


@dataclass(frozen=True, repr=False, eq=False)
class Records:
    """n private records over a public schema.

    Only the number of records and the schema may be told; the repr tells no more.

    Example:
        >>> from thresher.data import datasets
        >>> datasets.adult()
        Records(48842 records, 14 features, 588 one-hot columns)
    """

    schema: Schema
    columns: tuple[Codes, ...]

    def __init__(self, schema: Schema, columns: Sequence[Codes]) -> None:
        if len(columns) != len(schema):
            raise DataError(f"{len(columns)} columns were given for {len(schema)} features")
        coded = []
        for feature, column in zip(schema, columns, strict=True):
            codes = np.ascontiguousarray(column)
            if codes.ndim != 1 or codes.dtype.kind not in "ui" or len(codes) != len(columns[0]):
                raise DataError(
                    f"column {feature.name!r} must hold one whole number per record, "
                    "as many as the other columns"
                )
            if len(codes) and not (int(codes.min()) >= 0 and int(codes.max()) < feature.size):
                raise DataError(
                    f"column {feature.name!r} holds codes outside 0 to {feature.size - 1}"
                )
            coded.append(codes.astype(feature.dtype, copy=False))
        if not len(coded[0]):
            raise DataError("there are no records: at least one is needed")
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "columns", tuple(coded))

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return len(self.columns[0])

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return (
            f"Records({self.n} records, {len(self.schema)} features, "
            f"{self.schema.width} one-hot columns)"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("records are private and are not iterated; ask queries instead")

    def codes(self, name: str) -> Codes:
        """The coded column of one feature."""
        return self.columns[self.schema.index(name)]

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables. Not private: for the privacy wall and for evaluation."""
        return counted(self.schema, self.columns, feature_sets, progress)

"""Columns without a schema: a code for each spelling, in the order in which they are come upon.

Such codes say nothing by themselves, because other records decide about them. They are a short way
to write texts down while records are read. What leaves this module is about texts.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresher.schema.feature import Codes
from thresher.schema.features import Categorical

if TYPE_CHECKING:
    import pyarrow as pa

CELL = "(cell)"


@dataclass(frozen=True, kw_only=True)
class Spelled(Categorical):
    """A column that is read as it is written.

    It is a feature, so that databases send its cells as they send those of any feature that they
    cannot code themselves.

    Attributes:
        texts: The spellings that have been read, each with its code. An empty text is a blank cell.

    Example:
        >>> import pyarrow as pa
        >>> city = Spelled.of("city")
        >>> city.encode(pa.array(["Rome", None, " Rome "])).tolist(), city.texts
        ([0, 1, 0], {'Rome': 0, '': 1})
    """

    texts: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, name: str) -> "Spelled":
        """The column of this name."""
        return cls(name=name, categories=(CELL,), outside=CELL, nulls=CELL)

    def encode(self, column: "pa.Array") -> Codes:
        """The codes of some cells. Spellings that are new get the next ones."""
        import pyarrow.compute as pc

        from thresher.schema.coding import spellings_of

        encoded = spellings_of(self.name, column).dictionary_encode()
        texts = [text or "" for text in encoded.dictionary.to_pylist()]
        if encoded.null_count:
            texts.append("")
        codes = [self.texts.setdefault(text, len(self.texts)) for text in texts]
        places = np.asarray(pc.fill_null(encoded.indices, len(codes) - 1))
        coded: Codes = np.array(codes, dtype=np.uint32)[places]
        return coded


class SpelledCounts:
    """How often each spelling of a column occurs, added up batch by batch.

    Args:
        column: The column.

    Example:
        >>> import pyarrow as pa
        >>> city = Spelled.of("city")
        >>> counts = SpelledCounts(city)
        >>> counts.add(city.encode(pa.array(["Rome", "Oslo", "Rome"])))
        >>> counts.of_texts()
        {'Rome': 2, 'Oslo': 1}
    """

    def __init__(self, column: Spelled) -> None:
        self.column = column
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, codes: npt.NDArray[Any], weights: npt.NDArray[np.int64] | None = None) -> None:
        """Add the codes of some rows, each as often as its weight says, or once."""
        counts = np.zeros(len(self.column.texts), dtype=np.int64)
        counts[: len(self._counts)] = self._counts
        np.add.at(counts, codes, 1 if weights is None else weights)
        self._counts = counts

    def of_texts(self) -> dict[str, int]:
        """How often each spelling occurs. Those of no row that was added are not told."""
        counts = self._counts.tolist()
        texts = list(self.column.texts)[: len(counts)]
        return {text: count for text, count in zip(texts, counts, strict=True) if count}

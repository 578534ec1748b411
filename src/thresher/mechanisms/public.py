"""Public records as the start of D'.

Whoever gives them vouches that they are public: the promise does not cover them. They cost nothing,
and a release states that it started from them.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from thresher.data.private import PrivateData
from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.privacy.curator import Curator
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import Schema


@dataclass(frozen=True, eq=False)
class PublicStart:
    """Records that D' starts from.

    Attributes:
        records: The records.

    Example:
        >>> import thresher as th
        >>> start = PublicStart(th.datasets.adult())
        >>> start.rows(10, seed=0).count, start.settings["public"]["records"]
        (10, 48842)
    """

    records: Records

    @classmethod
    def of(cls, public: object, schema: Schema) -> "PublicStart | None":
        """Check what was given as public; None if nothing was.

        Args:
            public: Records in memory, or None.
            schema: The schema that they must have.
        """
        if public is None:
            return None
        if not isinstance(public, Records):
            raise ParameterError("public must be records in memory: th.read(…, in_memory=True)")
        if public.schema.fingerprint != schema.fingerprint:
            raise ParameterError("public has another schema than the workload: read it with that")
        return cls(public)

    @property
    def settings(self) -> dict[str, Any]:
        """How a release names the records: how many, and a digest of their codes."""
        digest = hashlib.sha256()
        for column in self.records.columns:
            digest.update(column.astype("<i8").tobytes())
        return {"public": {"records": self.records.n, "sha256": digest.hexdigest()}}

    def rows(self, count: int, seed: int) -> RelaxedRows:
        """One-hot rows from randomly chosen records, none twice before all were chosen once.

        Args:
            count: n', how many rows.
            seed: Of the choice.
        """
        rng, n = np.random.default_rng(seed), self.records.n
        rest = rng.choice(n, count % n, replace=False)
        chosen = np.concatenate([np.tile(np.arange(n), count // n), rest])
        codes = np.stack([column[chosen] for column in self.records.columns], axis=1)
        return RelaxedRows.from_codes(self.records.schema.sizes, codes)


@runtime_checkable
class MayStartPublic(Protocol):
    """A mechanism that can start D' from public records."""

    @property
    def public(self) -> Records | None:
        """The records, if any were given."""
        ...


def refuse_private_as_public(mechanism: object, data: PrivateData | Curator) -> None:
    """Refuse the private records themselves as public ones: D' would start as a copy of them."""
    if isinstance(mechanism, MayStartPublic) and mechanism.public is data:
        raise ParameterError(
            "public are the private records themselves: D' would start as a copy of them"
        )

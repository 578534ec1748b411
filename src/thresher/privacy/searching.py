"""Scores of a whole marginal table without walking its cells.

In a marginal table (r = k), a cell without records whose public answer rounds to a count of 0 has
score 0. All other cells are listed: those with records are known from counting, and a source
of public answers that is `Listable` finds those with large answers. So the work grows with the
records and with what the public answers have to say, and not with the number of cells.

What a source is asked here is public: a threshold, and a number that follows from n. It is never
asked about cells because they have records. A cell that it does not list has the public answer 0.
Whatever it lists is public, too, so one record moves a score by at most 1, as in a walk.
"""

import hashlib
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError
from thresher.privacy.tally import EXCLUDED, ListedScores
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.tables import Answers, AnswersOf, SparseTable
from thresher.tables.listing import Cells, Listable

SMALLEST_SEARCHED = 1 << 12
"""Tables with fewer cells are walked: it takes microseconds."""

SPARSE_FROM = 4
"""Tables with fewer cells than this many for each record are walked: most may hold records."""

ROOM = 1e-6
"""How much smaller, relatively, a listed answer may be than one that rounds up to a count.

More than double precision and float32 lose when an answer is computed, stored and multiplied.
"""


@dataclass(frozen=True, eq=False, repr=False)
class PublicList:
    """Public answers as a source listed them: read once, and copied.

    Attributes:
        cells: The listed cells, ascending.
        counts: N times each answer, as a whole number.
    """

    cells: Cells
    counts: npt.NDArray[np.int64]

    @property
    def mark(self) -> bytes:
        """A cryptographic hash of everything in it."""
        digest = hashlib.sha256(np.int64(len(self.cells)).tobytes())
        digest.update(self.cells.tobytes())
        digest.update(self.counts.tobytes())
        return digest.digest()


def can_be_searched(
    threshold: Threshold, schema: Schema, answers_of: AnswersOf, records: int = 0
) -> bool:
    """Whether the scores of a table are to be listed, by public facts alone.

    Args:
        threshold: The threshold.
        schema: The features.
        answers_of: The public answers.
        records: The public number of records. In small tables, many cells hold some.
    """
    return (
        threshold.r == threshold.k
        and threshold.query_count(schema) >= max(SMALLEST_SEARCHED, SPARSE_FROM * records)
        and isinstance(answers_of(threshold), Listable)
    )


def least_listed(total: int) -> float:
    """Answers below this are 0 once they are multiplied by N and rounded.

    Args:
        total: N, which counts are out of.
    """
    return 0.5 / total * (1.0 - ROOM)


def public_list(threshold: Threshold, answers: Answers, cells: int, total: int) -> PublicList:
    """What a source lists of its answers, checked.

    What is refused here depends on the public answers alone.

    Args:
        threshold: The threshold.
        answers: Its public answers.
        cells: The number of cells of its table.
        total: N, which counts are out of.
    """
    if not isinstance(answers, Listable):
        raise ParameterError(
            "answers_of must give the same kind of answers every time it is asked; what was paid "
            "for this selection is lost"
        )
    listed = answers.listed(least_listed(total))
    with np.errstate(all="ignore"):
        # An object can give its memory away as its array; only an array is surely copied.
        places = np.array(np.asarray(listed.cells), dtype=np.int64).reshape(-1)
        shares = np.array(np.asarray(listed.answers), dtype=np.float32).reshape(-1)
    is_sound = (
        places.size == shares.size
        and not np.isnan(shares).any()
        and bool((places[1:] > places[:-1]).all())
        and (not places.size or (places[0] >= 0 and places[-1] < cells))
    )
    if not is_sound:
        raise ParameterError(
            f"answers_of({threshold}) must list cells of its table, ascending, with a number each"
        )
    shares = np.clip(shares.astype(np.float64), 0.0, 1.0)
    return PublicList(places, np.rint(total * shares).astype(np.int64))


def score_listed(
    table: SparseTable, public: PublicList, scale: int = 1
) -> tuple[Cells, npt.NDArray[np.int64]]:
    """The cells that have records or a listed answer, ascending, and their scores.

    Args:
        table: The counts.
        public: The public answers, in counts.
        scale: S, by which differences are divided; scores are rounded down.
    """
    cells = np.empty(len(table) + len(public.cells), dtype=np.int64)
    scores = np.empty_like(cells)
    number = _merge(table.cells, table.counts, public.cells, public.counts, cells, scores)
    if scale != 1:
        scores //= scale
    return cells[:number], scores[:number]


def without_excluded(
    size: int, cells: Cells, scores: npt.NDArray[np.int64], excluded: Cells
) -> ListedScores:
    """Scores in which some cells are marked, and listed if they were not.

    Args:
        size: The number of cells of the table.
        cells: The listed cells, ascending.
        scores: Their scores.
        excluded: The cells that must not be chosen, ascending.
    """
    absent = excluded[~np.isin(excluded, cells, assume_unique=True)]
    at = np.searchsorted(cells, absent)
    cells, scores = np.insert(cells, at, absent), np.insert(scores, at, EXCLUDED)
    scores[np.searchsorted(cells, excluded)] = EXCLUDED
    return ListedScores(size, cells, scores)


@numba.njit(cache=True, nogil=True)
def _merge(cells, counts, others, public, merged, scores):  # type: ignore[no-untyped-def]
    """The union of two ascending lists of cells, with |count - public count| for each."""
    i = j = number = 0
    while i < cells.size or j < others.size:
        cell = min(
            cells[i] if i < cells.size else others[j], others[j] if j < others.size else cells[i]
        )
        difference = 0
        if i < cells.size and cells[i] == cell:
            difference += counts[i]
            i += 1
        if j < others.size and others[j] == cell:
            difference -= public[j]
            j += 1
        merged[number] = cell
        scores[number] = abs(difference)
        number += 1
    return number

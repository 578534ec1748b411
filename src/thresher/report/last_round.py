"""A check that needs no private data: could D' foresee the measurements of its last round?

The last round of RAP chose the queries that D' seemed to answer worst, and then measured them. D'
fitted anew to everything before that shows by how much it missed them. It is post-processing of
what was released, so it costs no privacy. It is pessimistic about a typical query, because these
were chosen for being bad, and silent about queries that selection overlooked.
"""

from dataclasses import dataclass

import numpy as np

from thresher.mechanisms.projector import targets_of
from thresher.mechanisms.rap import RAP
from thresher.privacy.measurements import measured_queries
from thresher.relaxed.projection import project
from thresher.relaxed.row_answers import answer_queries
from thresher.relaxed.rows import RelaxedRows
from thresher.release import Release
from thresher.release.sources import SyntheticRows


@dataclass(frozen=True)
class LastRound:
    """By how much D' without the last round missed its measurements, as shares of people.

    Attributes:
        count: The number of queries in the last round.
        typical: The root of the mean square of the misses, less what the noise accounts for.
        largest: The largest miss, noise included.
    """

    count: int
    typical: float
    largest: float


def last_round(release: Release) -> LastRound | None:
    """The misses of the last round; None for a release that was not made in rounds."""
    per_round = release.settings.get("queries_per_round")
    rounds = release.settings.get("rounds")
    measured = measured_queries(release.measurements)
    if release.mechanism != RAP.name or not isinstance(release.source, SyntheticRows):
        return None
    if not isinstance(per_round, int) or not isinstance(rounds, int) or rounds < 2:
        return None
    count = len(measured) - per_round * (rounds - 1)
    if len(measured) < len(release.measurements) or not 0 < count <= per_round:
        return None
    rng = np.random.default_rng(int(release.settings.get("seed", 0)))
    start = RelaxedRows.uniform(release.schema.sizes, release.source.rows.count, rng)
    optimiser = str(release.settings.get("optimizer", "accelerated"))
    before = project(start, targets_of(measured[:-count], release.schema), optimiser).rows
    last = measured[-count:]
    asked = (m.query for m in last)
    predicted = np.array(list(answer_queries(before, release.schema, asked)))
    misses = np.array([m.answer for m in last]) - predicted
    noise = np.array([m.noise for m in last])
    typical = float(np.sqrt(max(0.0, float((misses**2 - noise**2).mean()))))
    return LastRound(count, typical, float(np.abs(misses).max()))

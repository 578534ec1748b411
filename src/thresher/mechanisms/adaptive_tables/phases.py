"""The phases of adaptive tables, and about how the time of a fit is divided among them."""

from thresher.mechanisms.adaptive_tables.plan import Plan
from thresher.mechanisms.estimate import Work, slowness
from thresher.progress import COUNTING, ROUNDS, Phase
from thresher.queries.workload import Workload

ONE_WAY = "one-way tables"
WORKLOAD_TABLES = "the workload's tables"

TABLE_WORK, ROUND_WORK, ONE_WAY_SHARE = 70, 5, 0.05
"""The work for each table of the workload before the rounds, and for each table that has been
measured in each round; and what the one-way tables take of all that. By taking apart a fit of 64
3-way marginals of ADULT at ε = 1."""


def phases_of(plan: Plan, workload: Workload, seconds: float, n: int) -> tuple[Phase, ...]:
    """The phases of a fit that takes so many seconds.

    Args:
        plan: What is measured.
        workload: The thresholds to be answered well.
        seconds: What the whole fit takes.
        n: The number of records.
    """
    counting = min(slowness() * Work.counting(n, workload).seconds, 0.9 * seconds)
    tables, rounds = len(plan.workload_tables), plan.rounds
    before = TABLE_WORK * tables
    after = ROUND_WORK * rounds * (tables + rounds / 2)
    measures_one_way = bool(plan.one_way or plan.other_one_way)
    one_way = (ONE_WAY_SHARE * (before + after) + 1) if measures_one_way else 0.0
    share = (seconds - counting) / (one_way + before + after)
    phases = [Phase(COUNTING, counting)]
    if measures_one_way:
        phases.append(Phase(ONE_WAY, share * one_way))
    if tables:
        phases.append(Phase(WORKLOAD_TABLES, share * before))
    if rounds:
        phases.append(Phase(ROUNDS, share * after))
    return tuple(phases)

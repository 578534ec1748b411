"""The phases of adaptive tables, and about how the time of a fit is divided among them."""

from thresher.mechanisms.adaptive_tables.plan import Plan
from thresher.mechanisms.estimate import Work, slowness
from thresher.progress import COUNTING, ROUNDS, Phase
from thresher.queries.workload import Workload

COMPILING = "compiling kernels (once)"
ONE_WAY = "one-way tables"
WORKLOAD_TABLES = "the workload's tables"

ONE_WAY_WORK, TABLE_WORK, ROUND_WORK = 1.0, 40.0, 5.0
"""About how many iterations the fits take: to all one-way tables (of few cells each), to a table of
the workload, and to one table after a round."""


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
    one_way = ONE_WAY_WORK
    before = TABLE_WORK * tables
    after = ROUND_WORK * rounds * (tables + rounds / 2)
    share = (seconds - counting) / (one_way + before + after)
    phases = [Phase(COUNTING, counting), Phase(ONE_WAY, share * one_way)]
    if tables:
        phases.append(Phase(WORKLOAD_TABLES, share * before))
    if rounds:
        phases.append(Phase(ROUNDS, share * after))
    return tuple(phases)

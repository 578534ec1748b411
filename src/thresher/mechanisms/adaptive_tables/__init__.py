"""Adaptive tables: RAP's loop on whole marginal tables in place of single queries.

Replacing one record changes two cells of a marginal table, so measuring the whole table costs only
√2 times what one of its cells does. This is what the mechanism builds on.

- `mechanism`: the parameters, and how they resolve to a procedure.
- `procedure`: what is done, step by step.
- `plan`: the public rules and constants that decide what is measured, with their evidence.
- `rounds`: how what a round finds decides what the next one gets.
- `candidates`: the tables that may be measured.
- `candidate_answers`: what D' answers to them.
- `error_weights`: how much an error in a cell of a table matters to the workload's answers; by
  `people` (with `people_kernels`) where tables are too large to be computed whole.
- `start`: the first D', near the product of the one-way tables.
"""

from thresher.mechanisms.adaptive_tables.mechanism import AdaptiveTables
from thresher.mechanisms.adaptive_tables.workload_tables import Optimise

__all__ = ["AdaptiveTables", "Optimise"]

"""Every mechanism of thresher beside its peers, on public tables, at the same budget.

`python -m benchmarks.peers --help` says how to run it; `docs/accuracy.md` has the results. A *cell*
is a table, a workload and an ε. In each cell all mechanisms get the same records, thresholds and
promise: neighbours differ by one replaced record, δ = 1/n², and ρ follows from ε by the tight
conversion. `budgets` says how a peer that protects against other neighbours is charged.
"""

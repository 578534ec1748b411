"""D', the relaxed synthetic data: its rows, their answers, and Relaxed Projection (Algorithm 3).

`rows` has D' itself. `surrogate` has the paper's polynomial threshold queries in readable form.
Answers: `row_answers` (what a release asks), `selected` (single queries), `tables`, with `split`
and `counting` (all queries of a threshold at once), `nonzeros` (marginals of a sparse D').
Fitting: `targets`, `standardised` (their residuals), `optimisers`, `sparsemax` and `steps`, put
together by `projection`. `rounding` draws records from D'.

Compiled kernels are in `kernels`, `counting_kernels`, `nonzero_kernels`, `sparsemax` and `steps`.
This module imports nothing, so that a handful of queries can be answered without loading numba.
"""

"""The paper's way of Relaxed Projection, compact, in JAX: what our kernels are measured against.

Queries are gathered and multiplied row by row and differentiated automatically; Adam (optax) makes
a step and Sparsemax, by sorting, projects every feature of every row; tables are dense einsums.
JAX and optax are not dependencies of thresher: install them beside it to run this.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax


def sparsemax(values: jax.Array) -> jax.Array:
    """Project the last axis onto the simplex (Martins & Astudillo 2016)."""
    ordered = -jnp.sort(-values, axis=-1)
    cumulative = jnp.cumsum(ordered, axis=-1)
    steps = jnp.arange(1, values.shape[-1] + 1)
    support = jnp.sum(1 + steps * ordered > cumulative, axis=-1, keepdims=True)
    tau = (jnp.take_along_axis(cumulative, support - 1, axis=-1) - 1) / support
    return jnp.maximum(values - tau, 0)


def product_answers(rows: jax.Array, queries: jax.Array) -> jax.Array:
    """Mean over rows (n' × d') of the product of each query's columns (q × k)."""
    return jnp.mean(jnp.prod(rows[:, queries], axis=-1), axis=0)


def loss_and_gradient(
    queries: np.ndarray[Any, Any], targets: np.ndarray[Any, Any]
) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    """A compiled function from rows (n' × d') to the loss and its gradient."""
    columns, wanted = jnp.asarray(queries), jnp.asarray(targets, jnp.float32)
    return jax.jit(
        jax.value_and_grad(lambda rows: jnp.sum((product_answers(rows, columns) - wanted) ** 2))
    )


def adam_iteration(
    queries: np.ndarray[Any, Any], targets: np.ndarray[Any, Any], sizes: tuple[int, ...]
) -> tuple[Callable[[jax.Array, Any], tuple[jax.Array, Any]], Any]:
    """A compiled iteration (gradient, Adam, Sparsemax per feature), and the optimiser."""
    columns, wanted = jnp.asarray(queries), jnp.asarray(targets, jnp.float32)
    optimiser = optax.adam(1e-4 * float(np.sqrt(len(targets))))
    ends = [int(end) for end in np.cumsum(sizes)[:-1]]

    @jax.jit
    def iterate(rows: jax.Array, state: Any) -> tuple[jax.Array, Any]:
        gradient = jax.grad(lambda point: jnp.sum((product_answers(point, columns) - wanted) ** 2))(
            rows
        )
        updates, state = optimiser.update(gradient, state)
        moved = optax.apply_updates(rows, updates)
        blocks = [sparsemax(block) for block in jnp.split(moved, ends, axis=1)]
        return jnp.concatenate(blocks, axis=1), state

    return iterate, optimiser


def table(blocks: list[jax.Array]) -> jax.Array:
    """The marginal table of one to four features, each given as rows (n' × values)."""
    letters = "abcd"[: len(blocks)]
    terms = ",".join("n" + letter for letter in letters)
    return jnp.einsum(f"{terms}->{letters}", *blocks) / blocks[0].shape[0]

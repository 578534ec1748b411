"""The same promise for everyone: one replaced record, δ = 1/n², ρ by the tight conversion."""

import thresher as th
from thresher.data.records import Records


def replaced(data: Records, epsilon: float) -> float:
    """The ρ for neighbours that differ by one replaced record: what thresher spends."""
    return float(th.Budget.from_epsilon(epsilon, 1 / data.n**2).rho)


def replaced_by_noise_alone(data: Records, epsilon: float) -> float:
    """The ρ for the same neighbours if all that is bought is Gaussian noise, by its exact curve."""
    budget = th.Budget.from_epsilon(epsilon, 1 / data.n**2, accounting="gaussian")
    return float(budget.rho)


def added_or_removed(rho: float) -> float:
    """The ρ to give to a peer whose neighbours differ by one added or removed record.

    A replaced record moves two cells of a marginal table by one each, √2 in L2; an added one moves
    one cell. The noise that costs ρ/2 when a record is added costs 2·ρ/2 = ρ when one is replaced.

    This favours peers that also *choose* marginals: scores that a record moves by 1 when it is
    added can move by 2 when it is replaced, and their part of the budget, mostly a tenth, costs
    four times as much in place of twice. It is left like that: up to 1.1 ρ for the peer.

    Example:
        >>> added_or_removed(1.0)
        0.5
    """
    return rho / 2

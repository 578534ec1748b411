"""The parameters of every experiment, at three scales.

`PAPER` is the paper's reference tables as they stand: Table "Experimental reference table for
reevaluating RAP's utility on k-way marginals" (`Marginals`), the one "for evaluating r-of-k
thresholds" (`Thresholds`) and the one "for evaluating the future utility" (`Future`), with δ =
1/n² throughout. Four repetitions, and the largest workloads (all 364 marginals of ADULT, 1,024 of
LOANS), follow from the numbers of observations in the paper's regressions (`paper_numbers`). How
many future thresholds are drawn is settled here and said in docs/reproduction.md.

`QUICK` shows the effects on ADULT within half an hour on two cores, `SMOKE` touches every path.
"""

from dataclasses import dataclass, replace

from thresher.errors import ParameterError
from thresher.reproduction.data import (
    ADULT,
    ADULT_SMALL,
    LOANS_LIKE,
    LOANS_LIKE_SMALL,
    is_stand_in,
)
from thresher.reproduction.practice import AUTHORS, Practice
from thresher.reproduction.tasks import Shape
from thresher.wording import meant

Pairs = tuple[tuple[int, int], ...]


def grid_of(rounds: tuple[int, ...], per_round: tuple[int, ...]) -> Pairs:
    """Every (T, K) with T and K from the two lists.

    Example:
        >>> grid_of((1, 4), (16,))
        ((1, 16), (4, 16))
    """
    return tuple((t, k) for t in rounds for k in per_round)


PAPER_PAIRS = grid_of((1, 4, 16, 64), (4, 16, 64, 256))


@dataclass(frozen=True, kw_only=True)
class Marginals:
    """Present error on k-way marginals, and what filtering large ones does to it."""

    epsilons: tuple[float, ...] = (0.01, 0.1, 1.0)
    sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    pairs: Pairs = PAPER_PAIRS
    synthetic_rows: int = 1000
    k: int = 3
    map_epsilon: float = 0.1
    map_size: int = 256
    repetitions: int = 4


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Present error and time on r-of-k thresholds."""

    epsilons: tuple[float, ...] = (0.1, 1.0)
    sizes: tuple[int, ...] = (1, 4, 16, 64, 256)
    pairs: Pairs = PAPER_PAIRS
    map_pairs: Pairs = PAPER_PAIRS
    rows: tuple[int, ...] = (500, 1000, 2000)
    rows_pairs: Pairs = PAPER_PAIRS
    synthetic_rows: int = 1000
    r: tuple[int, ...] = (1, 2, 3, 4)
    k: int = 4
    map_epsilon: float = 0.1
    map_size: int = 64
    filtered: bool = False
    repetitions: int = 4


@dataclass(frozen=True, kw_only=True)
class Future:
    """Future error, drift and training progress."""

    epsilon: float = 0.1
    sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    pairs: Pairs = PAPER_PAIRS
    synthetic_rows: int = 1000
    r: int = 1
    k: int = 3
    shapes: tuple[Shape, ...] = ("uniform", "zipf", "geometric")
    drifts: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
    drift_sizes: tuple[int, int] = (4, 16)
    drift_pairs: Pairs = PAPER_PAIRS
    drift_repetitions: int = 10
    training_size: int = 4
    training_pair: tuple[int, int] = (16, 4)
    training_every: int = 1
    training_repetitions: int = 3
    training_future: int = 100
    overfitting_iterations: int = 1000
    overfitting_repetitions: int = 10
    advice_sizes: tuple[int, ...] = (1, 4, 16)
    advice_pairs: Pairs = ((4, 4), (4, 16), (16, 4))
    advice_repetitions: int = 10
    augmented: int = 16
    future: int = 100
    repetitions: int = 4


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How long fits take: adaptive RAP at one (T, K), and non-adaptive RAP."""

    epsilon: float = 0.1
    sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    non_adaptive_sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    reference_sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    pair: tuple[int, int] = (16, 4)
    reference_iterations: int = 1000
    forms_repeats: int = 15
    repetitions: int = 4


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The largest workloads that fit under a cap on memory, when all queries are held or not.

    One repetition: whether a workload fits depends on its number of queries, not on the noise.

    Attributes:
        sizes: Of unfiltered workloads.
        filtered_sizes: Of filtered ones, for a way that cannot hold even one large marginal.
    """

    cap_mib: int = 3072
    sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 512, 1024)
    filtered_sizes: tuple[int, ...] = (1, 4, 16, 24, 32)
    synthetic_rows: int = 1000
    repetitions: int = 1


@dataclass(frozen=True, kw_only=True)
class Scale:
    """All parameters of all experiments.

    Attributes:
        name: What the command line and every title call it.
        data: The names of the data sets, ADULT's first.
        optimizer: How D' is fitted.
        practice: What the authors' code does and the text does not say.
    """

    name: str
    data: tuple[str, ...] = (ADULT, LOANS_LIKE)
    marginals: Marginals = Marginals()
    thresholds: Thresholds = Thresholds()
    future: Future = Future()
    runtime: Runtime = Runtime()
    memory: Memory = Memory()
    optimizer: str = "accelerated"
    practice: Practice = AUTHORS

    def with_loans(self, name: str) -> "Scale":
        """The same with the user's file of LOANS, in place of the stand-in where there is one.

        Example:
            >>> QUICK.with_loans("loans-0123456789ab").data
            ('adult', 'loans-0123456789ab')
        """
        return replace(self, data=(*(d for d in self.data if not is_stand_in(d)), name))

    def up_to(self, size: int) -> "Scale":
        """The same without workloads and histories of more thresholds than this.

        The memory of large workloads is still looked at: that takes seconds, not hours.

        Example:
            >>> PAPER.up_to(64).marginals.sizes
            (1, 4, 16, 64)
            >>> PAPER.up_to(64).name
            'paper, |W| ≤ 64'
        """

        def capped(sizes: tuple[int, ...]) -> tuple[int, ...]:
            kept = tuple(s for s in sizes if s <= size)
            if not kept:
                raise ParameterError(f"--largest {size}: scale {self.name} has no such workload")
            return kept

        marginals, thresholds, runtime = self.marginals, self.thresholds, self.runtime
        small, narrow = capped(marginals.sizes), capped(thresholds.sizes)
        return replace(
            self,
            name=f"{self.name}, |W| ≤ {size}",
            marginals=replace(marginals, sizes=small, map_size=min(marginals.map_size, small[-1])),
            thresholds=replace(
                thresholds, sizes=narrow, map_size=min(thresholds.map_size, narrow[-1])
            ),
            future=replace(self.future, sizes=capped(self.future.sizes)),
            runtime=replace(
                runtime,
                sizes=capped(runtime.sizes),
                non_adaptive_sizes=capped(runtime.non_adaptive_sizes),
                reference_sizes=capped(runtime.reference_sizes),
            ),
        )

    def repeated(self, times: int) -> "Scale":
        """The same with another number of repetitions of everything; more are added to fewer.

        Example:
            >>> QUICK.repeated(10).marginals.repetitions
            10
        """
        future = replace(
            self.future,
            repetitions=times,
            drift_repetitions=times,
            training_repetitions=times,
            overfitting_repetitions=times,
            advice_repetitions=times,
        )
        return replace(
            self,
            marginals=replace(self.marginals, repetitions=times),
            thresholds=replace(self.thresholds, repetitions=times),
            future=future,
            runtime=replace(self.runtime, repetitions=times),
            memory=replace(self.memory, repetitions=times),
        )

    def only(self, begins: str) -> "Scale":
        """The same on one of its data sets, `adult` or `loans`; see `on` for any other.

        Example:
            >>> PAPER.only("adult").data
            ('adult',)
        """
        kept = tuple(data for data in self.data if data.startswith(begins)) if begins else ()
        if not kept:
            known = ", ".join(dict.fromkeys(data.split("-")[0] for data in self.data))
            raise ParameterError(f"--data: scale {self.name} has {known}, not {begins!r}")
        return replace(self, data=kept)

    def on(self, data: str) -> "Scale":
        """The same on one data set, whether or not it is among those of the scale."""
        return replace(self, data=(data,))


PAPER = Scale(name="paper")

QUICK = Scale(
    name="quick",
    data=(ADULT,),
    marginals=Marginals(
        sizes=(1, 4, 16, 64),
        pairs=grid_of((1, 4, 16), (4, 16, 64)),
        map_size=64,
        repetitions=3,
    ),
    thresholds=Thresholds(
        sizes=(1, 4, 16),
        pairs=grid_of((4, 16), (4, 16)),
        map_pairs=(*grid_of((1, 4, 16), (4, 16, 64)), (64, 4)),
        rows_pairs=((4, 16), (16, 4)),
        map_size=16,
        filtered=True,
        repetitions=2,
    ),
    future=Future(
        sizes=(1, 4, 16, 64),
        pairs=((4, 4), (4, 16), (16, 4)),
        drifts=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0),
        drift_pairs=((4, 4), (4, 16), (16, 4)),
        drift_repetitions=5,
        training_every=4,
        training_future=40,
        overfitting_iterations=100,
        overfitting_repetitions=4,
        advice_sizes=(1, 4),
        advice_repetitions=6,
        future=50,
        repetitions=4,
    ),
    runtime=Runtime(
        sizes=(1, 4, 16, 64),
        non_adaptive_sizes=(1, 4, 16, 64),
        reference_sizes=(1, 4, 16, 64),
        reference_iterations=50,
        forms_repeats=9,
        repetitions=1,
    ),
    memory=Memory(cap_mib=2048, sizes=(1, 4, 16, 64), filtered_sizes=(1, 4, 16)),
)

SMOKE = Scale(
    name="smoke",
    data=(ADULT_SMALL, LOANS_LIKE_SMALL),
    marginals=Marginals(
        sizes=(1, 4), pairs=((1, 4), (2, 4)), synthetic_rows=50, map_size=4, repetitions=2
    ),
    thresholds=Thresholds(
        epsilons=(0.1,),
        sizes=(1, 2),
        pairs=((1, 4), (2, 4)),
        map_pairs=((1, 4), (2, 4), (4, 1)),
        rows=(20, 50),
        rows_pairs=((2, 4),),
        synthetic_rows=50,
        map_size=2,
        repetitions=1,
    ),
    future=Future(
        sizes=(1, 4),
        pairs=((1, 4), (2, 4)),
        synthetic_rows=50,
        drifts=(0.0, 0.5, 1.0),
        drift_sizes=(2, 2),
        drift_pairs=((2, 4),),
        drift_repetitions=2,
        training_size=2,
        training_pair=(2, 4),
        training_every=5,
        training_repetitions=2,
        training_future=5,
        overfitting_iterations=4,
        overfitting_repetitions=2,
        advice_sizes=(2,),
        advice_pairs=((2, 4),),
        advice_repetitions=2,
        augmented=2,
        future=5,
        repetitions=2,
    ),
    runtime=Runtime(
        sizes=(1, 2),
        non_adaptive_sizes=(1,),
        reference_sizes=(1,),
        pair=(2, 4),
        reference_iterations=5,
        forms_repeats=1,
        repetitions=1,
    ),
    memory=Memory(cap_mib=1024, sizes=(1,), filtered_sizes=(1,), synthetic_rows=50),
)

SCALES = {scale.name: scale for scale in (SMOKE, QUICK, PAPER)}


def largest_first(data: tuple[str, ...]) -> list[Scale]:
    """The scales at which runs may be stored, the paper's own first.

    The paper's scale is cut where it is not whole: a figure loses its largest workloads, not its
    (T, K) or its repetitions. Of equal sizes, the paper's scale is before `quick`.

    Args:
        data: The names of the data sets.

    Example:
        >>> [scale.name for scale in largest_first(("adult",))][:4]
        ['paper', 'paper, |W| ≤ 256', 'paper, |W| ≤ 64', 'quick, 4 repetitions']
        >>> [scale.name for scale in largest_first(("adult",))][5:8]
        ['paper, |W| ≤ 16', 'quick, |W| ≤ 16', 'paper, |W| ≤ 4']
    """
    paper, quick = replace(PAPER, data=data), replace(QUICK, data=data)

    def repeated(scale: Scale, times: int) -> Scale:
        return replace(scale.repeated(times), name=f"{scale.name}, {times} repetitions")

    return [
        paper,
        *(paper.up_to(size) for size in (256, 64)),
        repeated(quick, PAPER.marginals.repetitions),
        quick,
        paper.up_to(16),
        quick.up_to(16),
        paper.up_to(4),
    ]


def scale_named(name: str) -> Scale:
    """One of the scales."""
    if name not in SCALES:
        raise ParameterError(
            f"--scale must be one of {', '.join(SCALES)}, not {name!r}{meant(name, SCALES)}"
        )
    return SCALES[name]

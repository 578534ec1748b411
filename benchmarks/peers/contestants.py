"""Who takes part, and how to install whoever is absent."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.peers import mbi, opendp, others, ours
from benchmarks.peers.fitted import Fitted, Task


@dataclass(frozen=True)
class Contestant:
    """A mechanism of thresher, or a peer.

    Attributes:
        fit: Fits it.
        is_here: Whether it can be run here.
        install: What to do if it cannot.
        is_told: Whether it is told the workload. If not, one fit to all features serves all.
    """

    fit: Callable[[Task], Fitted]
    is_here: Callable[[], bool]
    install: str
    is_told: bool = True


def _has(*needed: str) -> Callable[[], bool]:
    """Whether packages are installed, each as `name` or as `name 2` for a major version."""

    def found() -> bool:
        for one in needed:
            name, _, major = one.partition(" ")
            try:
                version = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                return False
            if major and version.split(".")[0] != major:
                return False
        return True

    return found


OPENDP = partial(Contestant, is_here=_has("opendp", "mbi 1"), install="pip install 'opendp[mbi]'")
DPSYNTH = partial(
    Contestant,
    is_here=_has("dpsynth"),
    install="install github.com/google/dpsynth by its README (Python 3.12)",
)
CONTESTANTS: dict[str, Contestant] = {
    **{
        name: Contestant(
            partial(ours.fit, name),
            partial(ours.is_here, name),
            "this version of thresher does not have it",
        )
        for name in ours.OURS
    },
    "opendp_mst": OPENDP(opendp.mst, is_told=False),
    "opendp_aim": OPENDP(opendp.aim),
    "mbi_mixture": Contestant(
        mbi.mixture, _has("mbi 2"), "pip install 'mbi>=2', not beside opendp[mbi], which pins mbi 1"
    ),
    "dpsynth_aim": DPSYNTH(others.dpsynth_aim),
    "dpsynth_swift": DPSYNTH(others.dpsynth_swift),
    "private_gsd": Contestant(
        others.private_gsd,
        _has("genetic_sd", "smartnoise-synth"),
        "install github.com/giusevtr/private_gsd and smartnoise-synth, with a jax of its time",
        is_told=False,
    ),
}

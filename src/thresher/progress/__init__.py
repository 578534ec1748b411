"""How far long work has come: its phases, the time that is left, and how both are shown."""

from thresher.progress.steps import COUNTING, ROUNDS, Called, Follower, Phase, Step

__all__ = ["COUNTING", "ROUNDS", "Called", "Follower", "Phase", "Step"]

"""How far long work has come: its phases, the time that is left, and how both are shown."""

from thresher.progress.steps import COMPILING, COUNTING, ROUNDS, Called, Follower, Phase, Step

__all__ = ["COMPILING", "COUNTING", "ROUNDS", "Called", "Follower", "Phase", "Step"]

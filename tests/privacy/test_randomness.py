"""Words are uniform, the system's are never the same twice, and seeded ones say what they are."""

import copy
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from thresher.errors import ParameterError
from thresher.privacy.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

FALSE_ALARM = 1e-8
SOURCES = [SystemRandomness(), InsecureSeededRandomness(20)]


@pytest.mark.parametrize("source", SOURCES, ids=["system", "seeded"])
def test_every_byte_of_a_word_is_uniform(source: Randomness) -> None:
    words = source.words(100_000)
    assert words.dtype == np.uint64
    assert words.shape == (100_000,)
    for column in words.view(np.uint8).reshape(-1, 8).T:
        assert chisquare(np.bincount(column, minlength=256)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 100])
def test_below_is_uniform(bound: int) -> None:
    source = InsecureSeededRandomness(bound)
    counts = np.bincount([source.below(bound) for _ in range(20_000)], minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > FALSE_ALARM


def test_below_is_uniform_where_a_remainder_of_one_word_would_not_be() -> None:
    source = InsecureSeededRandomness(0)
    third = 2**64 // 2
    drawn = [source.below(3 * third) // third for _ in range(20_000)]
    assert chisquare(np.bincount(drawn)).pvalue > FALSE_ALARM


@given(bound=st.integers(1, 2**300), seed=st.integers(0, 2**64))
@settings(max_examples=50)
def test_below_stays_below_any_bound(bound: int, seed: int) -> None:
    assert 0 <= InsecureSeededRandomness(seed).below(bound) < bound


@given(count=st.integers(0, 300))
@settings(max_examples=30)
def test_bits_fill_their_range(count: int) -> None:
    source = InsecureSeededRandomness(3)
    together = 0
    for _ in range(64):
        drawn = source.bits(count)
        assert 0 <= drawn < 2**count
        together |= drawn
    assert together == 2**count - 1


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ParameterError, match="bound must be at least 1"):
        SystemRandomness().below(0)
    with pytest.raises(ParameterError, match="count must be at least 0"):
        SystemRandomness().bits(-1)
    for seed in (-1, 0.5, True, None):
        with pytest.raises(ParameterError, match="seed must be a whole number"):
            InsecureSeededRandomness(seed)  # type: ignore[arg-type]


def test_the_system_source_cannot_be_seeded_copied_or_pickled() -> None:
    source = SystemRandomness()
    with pytest.raises(TypeError):
        SystemRandomness(0)  # type: ignore[call-arg]
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            duplicate(source)


def test_two_system_sources_share_nothing() -> None:
    drawn = np.concatenate([SystemRandomness().words(1000), SystemRandomness().words(1000)])
    assert len(np.unique(drawn)) == 2000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_draws_other_words_than_its_parent() -> None:
    source = SystemRandomness()
    source.words(1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source.words(100).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 800), dtype=np.uint64)
    os.close(reader)
    os.close(writer)
    assert len(np.unique(np.concatenate([theirs, source.words(100)]))) == 200


def test_a_seed_repeats_itself_and_says_that_it_is_insecure() -> None:
    first, again, other = (InsecureSeededRandomness(seed) for seed in (1, 1, 2))
    pieces = np.concatenate([first.words(3), first.words(7)])
    assert np.array_equal(pieces, again.words(10))
    assert not np.array_equal(pieces, other.words(10))
    assert "insecure" in repr(first)
    assert not first.is_secure
    assert SystemRandomness().is_secure
    assert repr(SystemRandomness()) == "SystemRandomness()"

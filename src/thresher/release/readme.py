"""The file README.md of a release: for people who open the folder."""

import itertools
import shlex
from typing import TYPE_CHECKING

from thresher.privacy.measurements import measured_queries
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.release.measured_lines import name_of, noisy_tables, tables_listed
from thresher.release.promise import NOT_PRIVATE, conversion_of, promise_of
from thresher.release.sources.joint_tables import JointTable
from thresher.wording import plain

if TYPE_CHECKING:
    from thresher.release.release import Release

MOST_NAMED = 50
"""The most tables that are named because they are not in measurements.csv."""

FILES = {
    "README.md": "this page",
    "release.json": "what the release is, what it cost, how it was made; checksums of every file",
    "statement.json": "the privacy statement for machines and registries: unit, ε, δ, ρ, noise",
    "schema.json": "the columns: their names, kinds and values",
    "workload.json": "the combinations of columns that the release was made for",
    "measurements.csv": "every noisy count, with labels and the standard deviation of its noise",
    "tables.npz": "the noisy tables as arrays, in the order of release.json",
    "residuals.npz": "the noisy residuals of tables, from which answers come",
    "rows.npz": "the synthetic data set D' as probabilities, from which most answers come",
}
"""What each file of a release is, for people."""


def readme_of(release: "Release", files: set[str]) -> str:
    """The text of README.md.

    Args:
        release: The release.
        files: The names of the files in the folder.
    """
    about = "about " if release.n_sigma else ""
    warning = [] if release.is_secure else [f"**Not private.** {NOT_PRIVATE}", ""]
    rows = [f"| `{name}` | {words} |" for name, words in FILES.items() if name in files]
    lines = [
        "# A release of thresher",
        "",
        *warning,
        f"Answers about {about}{release.n:,} {release.unit.counted}, made on "
        f"{release.created[:10]} under differential privacy with ε = {release.epsilon:.4g} and "
        f"δ = {float(release.delta):.2g}. All of it is public: use it as often as you like.",
        "",
        "## Ask it",
        "",
        "With thresher installed, and `FOLDER` for the path of this folder:",
        "",
        f"    thresher answer FOLDER {shlex.quote(_example(release))}",
        "    thresher explore FOLDER     # a page to open in a browser",
        "",
        "In Python:",
        "",
        "    import thresher",
        '    release = thresher.load("FOLDER")',
        f"    answer = release.answer({_example(release)!r})",
        "    answer, answer.error_bar    # a share, and its margin of error at 95 %",
        "",
        "## The promise",
        "",
        *_paragraphs([*promise_of(release), *([conversion_of(release)] if release.spent else [])]),
        "## The files",
        "",
        "| file | what it is |",
        "|---|---|",
        *rows,
        "",
        "Checksums guard every file, this one too. Put notes of your choice into other files.",
        "",
        *_paragraphs(_of_measurements(release)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _example(release: "Release") -> str:
    feature = next(iter(release.schema))
    return plain(Query([Condition(feature.name, [0])]).text(release.schema))


def _of_measurements(release: "Release") -> list[str]:
    """How to read measurements.csv, and which tables are not in it."""
    tables = noisy_tables(release)
    if not tables and not measured_queries(release.measurements):
        return ["No query and no table was measured: `measurements.csv` has only its first line."]
    parts = release.unit.parts
    unit = f"Counts and `sigma` are in parts of a person, {parts:,} to each. " if parts > 1 else ""
    said = [
        "In `measurements.csv`, each line is a count with noise: the query it answers, "
        "`noisy_count`, the standard deviation `sigma` of its noise, and `noisy_share`, the count "
        f"as a share of all {release.unit.counted}. {unit}"
        "For a cell of a table, `table` names the features and `value_1`, `value_2`, … their "
        "values. Noise can make a count negative. Answers of the commands above combine "
        "these counts and are closer to the truth than any one of them."
    ]
    if any(isinstance(table, JointTable) for table in tables):
        said.append(
            "Some tables were measured by their residuals: what each says beyond its margins. They "
            "are in `residuals.npz`. Their counts are put together from these and rounded."
        )
    places = itertools.count()
    left_out = []
    for table, is_listed in zip(tables, tables_listed(tables), strict=True):
        is_joint = isinstance(table, JointTable)
        place = "from residuals" if is_joint else f"`table{next(places)}`"
        if not is_listed:
            name = plain(name_of(table.threshold))
            left_out.append(f"- {place}: {name} ({table.counts.size:,} cells)")
    if left_out:
        more = len(left_out) - MOST_NAMED
        listed = left_out[:MOST_NAMED] + ([f"- and {more:,} more"] if more > 0 else [])
        said.append(
            "These tables are too large for `measurements.csv`. `tables.npz` has all of the "
            "cells of those with a name:\n\n" + "\n".join(listed)
        )
    return said


def _paragraphs(texts: list[str] | tuple[str, ...]) -> list[str]:
    return [line for text in texts for line in (text, "")]

"""The privacy statement of a release, for machines and for registries of deployments.

`deployment` has the fields of the schema of the Differential Privacy Deployments Registry (OpenDP,
Oblivious and NIST; the schema of July 2026). It has those that thresher knows. Who publishes the
release, what for and where is for the curator to add. `thresher` has the exact numbers, and what
the registry has no field for.
"""

from typing import TYPE_CHECKING, Any

from thresher.privacy.measurements import measured_queries, measured_residuals, measured_tables
from thresher.release.promise import conversion_of

if TYPE_CHECKING:
    from thresher.release.release import Release

FORMAT, VERSION = "thresher-statement", 1


def statement_of(release: "Release") -> dict[str, Any]:
    """What a release promises, to whom, and how it was made, as plain JSON values.

    Args:
        release: The release.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "race"))])
        >>> stated = statement_of(th.GaussianJoint(rho=1).fit(data, work))
        >>> stated["deployment"]["privacy_loss"]["privacy_unit"]
        'Record-level'
        >>> stated["thresher"]["noise"]["tables"]
        {'number': 1, 'cells': 10, 'smallest_sigma': 1.0, 'largest_sigma': 1.0}
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "deployment": {
            "basic": _basic(release),
            "dp_variant": _variant(release),
            "privacy_loss": _loss(release),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_details": "Queries are answered from what was published, without the "
                "records. Answers cost no privacy.",
            },
            "accounting": _accounting(release),
            "implementation": _implementation(release),
        },
        "thresher": _exact(release),
    }


def _basic(release: "Release") -> dict[str, Any]:
    return {
        "description": f"Noisy tables and answers about {release.n:,} {release.unit.counted} with "
        f"{len(release.schema)} features, for {len(release.workload):,} thresholds.",
        "data_product_type": (
            "Summary statistics" if release.source.rows is None else "Synthetic data"
        ),
        "publication_date": release.created[:10],
    }


def _variant(release: "Release") -> dict[str, Any]:
    unit = release.unit
    return {
        "variant_name": "Zero-concentrated DP",
        "data_domain": f"Tables of {unit.counted} with the features of the schema "
        f"{release.schema.fingerprint[:16]}: {', '.join(release.schema.names)}.",
        "unprotected_quantities": (
            f"The number of {unit.counted}, {release.n:,}. The schema and the workload."
            if release.n_sigma == 0
            else "The schema and the workload."
        ),
    }


def _loss(release: "Release") -> dict[str, Any]:
    budget = release.budget
    given = "ρ" if budget.epsilon is None else "ε and δ"
    return {
        "privacy_unit": "Record-level" if release.unit.person is None else "Person-level",
        "privacy_unit_details": f"In adjacent data sets, {release.unit.described}.",
        "privacy_parameters": {
            "epsilon": release.epsilon,
            "delta": float(release.delta),
            "rho": float(budget.rho),
        },
        "privacy_parameters_details": f"The budget was given as {given}. {conversion_of(release)} "
        "The noise "
        + (
            "is of secure randomness."
            if release.is_secure
            else "came from a seed: this release protects nobody."
        ),
    }


def _accounting(release: "Release") -> dict[str, str]:
    composition = (
        "Adaptive composition under Gaussian differential privacy: the ρ = μ²/2 of all "
        "measurements add up, in exact fractions. Choices, where there are any, are drawn at a "
        "lower rate than they pay for, so that all results together keep it."
        if release.budget.accounting == "gaussian"
        else "Adaptive composition under zero-concentrated differential privacy: the ρ of all "
        "choices and measurements add up, in exact fractions."
    )
    return {
        "composition": composition,
        "post_processing": f"Answers come from {release.source.kind}, which were made from the "
        "noisy counts alone.",
    }


def _implementation(release: "Release") -> dict[str, str]:
    return {
        "preprocessing_and_hyperparameter_tuning": "Each cell is coded by the public schema alone. "
        "What thresher chose by looking at records was paid from the same budget.",
        "mechanisms": f"thresher {release.versions.get('thresher', 'of an unknown version')}, "
        f"mechanism {release.mechanism}. Counts are measured by the discrete Gaussian mechanism; "
        "queries and tables are chosen by the exponential mechanism, where the mechanism chooses. "
        "Both are sampled exactly, on integers, so floating point cannot change what is drawn.",
    }


def _exact(release: "Release") -> dict[str, Any]:
    budget = release.budget
    parts = release.unit.parts
    queries = measured_queries(release.measurements)
    tables = measured_tables(release.measurements)
    residuals = measured_residuals(release.measurements)
    return {
        "created": release.created,
        "schema": release.schema.fingerprint,
        "unit": release.unit.as_json(),
        "n": {"value": release.n, "of": release.unit.counted, "sigma": release.n_sigma},
        "epsilon": release.epsilon,
        "delta": float(release.delta),
        "rho": str(budget.rho),
        "rho_spent": str(release.spent),
        "accounting": budget.accounting,
        "mechanism": release.mechanism,
        "settings": dict(release.settings),
        "noise": {
            "distribution": "discrete Gaussian",
            "secure_randomness": release.is_secure,
            "queries": _noise([1] * len(queries), [m.sigma / parts for m in queries]),
            "tables": _noise([m.counts.size for m in tables], [m.sigma / parts for m in tables]),
            "residuals": _noise(
                [m.contrasts.size for m in residuals], [m.sigma / parts for m in residuals]
            ),
        },
        "versions": dict(release.versions),
    }


def _noise(cells: list[int], sigmas: list[float]) -> dict[str, Any]:
    """How many were measured, and the standard deviations of their noise in people."""
    return {
        "number": len(sigmas),
        "cells": sum(cells),
        "smallest_sigma": min(sigmas, default=None),
        "largest_sigma": max(sigmas, default=None),
    }

"""No project that an evaluation uses is among the training packages."""

from __future__ import annotations

import pytest
from training import collect, holdout


@pytest.mark.parametrize(
    "package",
    [
        "python3-sphinx",
        "sympy",
        "mockito",
        "python3-schema-salad",
        "python3-jupyter-server",
        "golang-github-labstack-echo-dev",
        "librust-hyper-dev",
        "node-axios",
        "@azure/msal-node",
        "libcommons-lang3-java",
    ],
)
def test_packages_of_evaluated_projects_are_held_out(package: str) -> None:
    assert holdout.held_out(package)


@pytest.mark.parametrize("package", ["python3-jupyterlab-server", "node-http-server", "python3-py", "librust-syn-dev"])
def test_packages_that_share_a_word_are_not_held_out(package: str) -> None:
    assert not holdout.held_out(package)


def test_copies_of_evaluated_projects_are_left_out() -> None:
    assert holdout.vendored(["src", "schema_salad"])
    assert holdout.vendored(["vendor", "sympy-1.11"])
    assert not holdout.vendored(["src", "schema"])


def test_no_training_package_is_held_out() -> None:
    assert not [
        package.name for package in collect.packages() if package.role == "train" and holdout.held_out(package.name)
    ]

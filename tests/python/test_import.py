"""What an import costs and brings in. Each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from airfreight import exchange

HEAVY = ("airfreight._core", "pandas", "pyarrow", "numpy", "boto3", "botocore", "fsspec")
BASE = "airflow.models.xcom" if exchange.ROWS_ARE_BYTES else "airflow.sdk.bases.xcom"


def run(code: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        # (Servers of the tests are named like options, which are looked into.)
        env={k: v for k, v in os.environ.items() if not k.startswith("AIRFREIGHT_")} | env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_importing_the_package_loads_nothing_else() -> None:
    run(
        "import sys; before = set(sys.modules); import airfreight; "
        f"new = set(sys.modules) - before; assert not {set(HEAVY)!r} & new; "
        "assert not any(name.partition('.')[0] == 'airflow' for name in new), new; "
        "assert {n for n in new if n.startswith('airfreight')} == {'airfreight'}, new"
    )


def test_importing_the_backend_adds_only_its_own_modules_to_airflow() -> None:
    # What pandas and numpy Airflow itself brings in is there before.
    run(
        f"import sys, {BASE}; before = set(sys.modules); import airfreight; "
        "airfreight.XComBackend; "
        "new = {n for n in set(sys.modules) - before if not n.startswith('airfreight')}; "
        "assert not new, new; assert 'airfreight._core' not in sys.modules; "
        "assert 'airfreight.exchange' not in sys.modules",
        AIRFLOW__CORE__XCOM_BACKEND=f"{BASE}.BaseXCom",
    )


@pytest.mark.parametrize("first", ["airflow", "airfreight", "airfreight; airfreight.XComBackend"])
def test_airflow_finds_the_backend_whichever_is_imported_first(first: str) -> None:
    module = "airflow.models.xcom" if exchange.ROWS_ARE_BYTES else "airflow.sdk.execution_time.xcom"
    out = run(f"import {first}; import {module} as x; print(x.XCom)")
    assert "<class 'airfreight.backend.XComBackend'>" in out
    assert "does not define" not in out


def test_a_small_value_loads_neither_the_core_nor_a_codec() -> None:
    run(
        "import sys, airfreight; airfreight.XComBackend; before = set(sys.modules); "
        "airfreight.XComBackend.serialize_value({'a': 1}, key='k', task_id='t', dag_id='d', "
        "run_id='r', map_index=-1); new = set(sys.modules) - before; "
        f"assert not {set(HEAVY)!r} & new, new; assert 'airfreight.values.document' not in new",
    )


def test_bytes_need_neither_numpy_nor_pandas(tmp_path: object) -> None:
    run(
        "import sys, airfreight; airfreight.XComBackend; from types import SimpleNamespace as "
        "R; before = set(sys.modules); "
        "row = airfreight.XComBackend.serialize_value(b'x', key='k', task_id='t', dag_id='d', "
        "run_id='r', map_index=-1); airfreight.XComBackend.deserialize_value(R(value=row)); "
        "new = set(sys.modules) - before; "
        "assert not {'numpy', 'pandas', 'pyarrow', 'boto3', 'fsspec'} & new, new",
        AIRFLOW__AIRFREIGHT__STORE=f"file://{tmp_path}/store",
    )


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    import airfreight

    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        airfreight.nope  # noqa: B018
    assert set(airfreight.__all__) <= set(dir(airfreight))
    for name in airfreight.__all__:
        if name != "__version__":
            assert getattr(airfreight, name).__module__.startswith("airfreight.")


def test_a_core_that_can_not_be_loaded_is_a_clear_error_at_first_use(tmp_path: object) -> None:
    out = run(
        "import sys; sys.modules['airfreight._core'] = None\n"
        "import airfreight\n"
        "try:\n    airfreight.XComBackend.serialize_value(b'x', key='k', task_id='t', "
        "dag_id='d', run_id='r')\n"
        "except ImportError as error: print(error)",
        AIRFLOW__AIRFREIGHT__STORE=f"file://{tmp_path}/store",
    )
    assert "Airfreight's native core can't be loaded" in out
    assert "pip install" in out

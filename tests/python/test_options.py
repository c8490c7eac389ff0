"""`airfreight.options`: what a task may say of how its value is kept."""

from __future__ import annotations

import collections
import copy
import json
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.oracle import assert_same
from tests.python.test_mappable import expanded

import airfreight
from airfreight import config, exchange, runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

try:
    from airflow.sdk.definitions.mappedoperator import is_mappable_value
    from airflow.sdk.definitions.xcom_arg import PlainXComArg
except ImportError:
    from airflow.models.taskinstance import (
        _is_mappable_value as is_mappable_value,
    )
    from airflow.models.xcom_arg import PlainXComArg

RULES = """\
[stores.eu]
uri = "file:///nowhere/eu"

[[rules]]
name = "personal"
dag = "hr"
retention = "7d"

[[rules]]
name = "open"
dag = "lab"
may_change = ["describe", "threshold", "max_size"]

[[rules]]
name = "closed"
dag = "vault"
may_change = []

[[rules]]
name = "cap"
dag = "cap"
max_size = 1000
may_change = ["max_size"]
"""


@pytest.fixture
def push(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__STORE", f"file://{tmp_path}/store")
    path = tmp_path / "policy.toml"
    path.write_text(RULES)

    def push(value: Any, dag: str = "other", *, policy: bool = True, **more: str) -> Any:
        if policy:
            monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY_FILE", str(path))
        for name, text in more.items():
            monkeypatch.setenv(f"AIRFLOW__AIRFREIGHT__{name.upper()}", text)
        config.forget()
        runtime.forget()
        row = exchange.pack(value, exchange.Address(dag, "r", "t", "return_value", map_index=-1))
        return json.loads(row) if isinstance(row, bytes) else row

    yield push
    config.forget()
    runtime.forget()


def pulled(row: Any) -> Any:
    return exchange.unpack(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


# --- What Airflow sees ----------------------------------------------------------------------------


MAPPABLE = [
    [1, 2, 3],
    [],
    (1, 2),
    {"a": 1, "b": 2},
    OrderedDict(x=1),
    airfreight.mappable([1, 2]),
    airfreight.mappable({"a": 1}),
]
OTHERS = ["text", b"bytes", {1, 2}, MappingProxyType({"a": 1}), 5, pd.DataFrame({"a": [1]})]


@pytest.mark.parametrize("bare", [*MAPPABLE, *OTHERS], ids=lambda value: type(value).__name__)
def test_airflow_sees_in_the_wrapper_what_it_sees_in_the_value(bare: Any) -> None:
    wrapper = airfreight.options(bare, format="arrow")
    assert wrapper is not bare
    assert is_mappable_value(wrapper) is is_mappable_value(bare)
    assert isinstance(wrapper, Mapping) is isinstance(bare, Mapping)
    assert str(wrapper) == str(bare)
    assert wrapper.value is bare
    if hasattr(bare, "__len__"):
        assert len(wrapper) == len(bare)
    if not isinstance(bare, pd.DataFrame):
        assert wrapper == bare
        assert bool(wrapper) is bool(bare)


@pytest.mark.parametrize("bare", [value for value in MAPPABLE if len(value) > 0], ids=str)
def test_a_mapped_task_gets_of_the_wrapper_what_it_gets_of_the_value(bare: Any) -> None:
    # Of values in the task itself: what is pulled is bare anyway.
    wrapper = airfreight.options(bare, format="arrow")
    if isinstance(bare, Sequence) and not isinstance(bare, Mapping):
        for index in range(len(bare)):
            assert expanded(wrapper, index) == expanded(bare, index)


@pytest.mark.parametrize("bare", [{"a": 1, "b": None}, MappingProxyType({"a": 1})], ids=str)
def test_the_outputs_of_a_mapping_have_its_options(bare: Any) -> None:
    wrapper = airfreight.options(bare, format="arrow", retention="7d")
    assert list(wrapper.keys()) == list(bare)
    items = dict(wrapper.items())
    assert {key: value.value for key, value in items.items() if value is not None} == {
        key: value for key, value in bare.items() if value is not None
    }
    assert all(value is None or value.said == wrapper.said for value in items.values())
    # For everybody else the values are bare.
    assert {**wrapper} == dict(bare)
    assert list(wrapper.values()) == list(bare.values())
    assert wrapper["a"] == 1
    assert wrapper.get("none", 5) == 5


@pytest.mark.parametrize("make", [airfreight.options, airfreight.mappable], ids=["o", "m"])
@pytest.mark.parametrize("mapped", [False, True])
def test_what_stands_for_the_result_of_a_task_is_refused(make: Any, mapped: bool) -> None:
    # In a wrapper Airflow would not find it: the task would get it as it is, and not wait for it.
    result: Any = PlainXComArg(SimpleNamespace(task_id="produce"), "return_value")
    with pytest.raises(TypeError, match=r"stands for the result of a task, .*inside of that task"):
        make(result.map(str) if mapped else result)


def test_none_stays_none_which_airflow_does_not_push() -> None:
    assert airfreight.options(None, format="arrow") is None


def test_the_wrapper_tells_what_it_is_and_can_be_copied_and_pickled() -> None:
    wrapper = airfreight.options([1], format="arrow", retention="36h")
    assert repr(wrapper) == "airfreight.options([1], format='arrow', retention='129600')"
    for same in (pickle.loads(pickle.dumps(wrapper)), copy.copy(wrapper), copy.deepcopy(wrapper)):
        assert (type(same), same.value, same.said) == (type(wrapper), [1], wrapper.said)
    with pytest.raises(TypeError, match="unhashable"):
        hash(wrapper)
    assert hash(airfreight.options("a", format="arrow")) == hash("a")


def test_what_is_said_last_holds() -> None:
    inner = airfreight.options([1], format="arrow", compression="zstd")
    outer = airfreight.options(inner, format="parquet")
    assert outer.value == [1]
    assert outer.said == {"format": "parquet", "compression": "zstd"}


# --- What may be said -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"retention": timedelta(days=7)}, {"retention": "604800"}),
        ({"retention": "1w"}, {"retention": "604800"}),
        ({"threshold": 0, "max_size": "2GiB"}, {"threshold": "0", "max_size": "2147483648"}),
        ({"describe": "size", "digest": "sha256"}, {"describe": "size", "digest": "sha256"}),
        ({}, {}),
    ],
)
def test_options_are_read_as_rules_are(options: dict[str, Any], said: dict[str, str]) -> None:
    assert airfreight.options([1], **options).said == said


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fromat": "arrow"}, TypeError, "fromat is no option; did you mean format?"),
        ({"colour": "red"}, TypeError, "colour is no option; there are "),
        ({"format": "csv"}, ValueError, "format is 'csv'; right is one of parquet, arrow"),
        ({"retention": "soon"}, ValueError, "retention is 'soon'; right is"),
        ({"retention": timedelta(seconds=-1)}, ValueError, "retention is '-1s'; right is"),
        ({"retention": timedelta(microseconds=1)}, ValueError, "retention is '0:00:00.000001'"),
        ({"format": 5.0}, TypeError, "format must be a text or a whole number, not float"),
        ({"preview_rows": True}, TypeError, "preview_rows must be .* not bool"),
        ({"store": None}, TypeError, "store must be .* not NoneType"),
        ({"pickle": "allow"}, ValueError, "pickle = "),
        ({"outage": "wait"}, ValueError, "outage is 'wait'; right is one of fail, inline"),
    ],
)
def test_what_is_no_option_is_refused_at_once(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        airfreight.options([1], **options)
    assert str(raised.value).startswith("airfreight.options: ")


# --- What it does ---------------------------------------------------------------------------------


def test_a_frame_is_kept_as_its_task_says_and_comes_back_bare(push: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5]})
    for policy in (False, True):
        row = push(airfreight.options(frame, format="arrow"), policy=policy)
        assert row["uri"].endswith(".arrow")
        assert row["_xcom_type"] == "pandas.DataFrame"
        assert_same(pulled(row), frame)
        # And nothing of it stays for the next value.
        assert push(frame, policy=policy)["uri"].endswith(".parquet")


def test_small_values_stay_in_the_row_as_they_are(push: Callable[..., Any]) -> None:
    assert push(airfreight.options({"a": 1}, format="arrow")) == {"a": 1}
    assert push(airfreight.options([1, 2], compression="zstd"), threshold="-1") == [1, 2]


def test_a_mappable_list_keeps_its_elements_apart(push: Callable[..., Any]) -> None:
    items = [pd.DataFrame({"a": [n]}) for n in range(2)]
    row = push(airfreight.options(airfreight.mappable(items), format="arrow"))
    assert row["_xcom_type"] == "mappable"
    assert_same(pulled(row)[1], items[1])


def test_by_hand_options_hold_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, push: Callable[..., Any]
) -> None:
    del push  # For its settings.
    frame = pd.DataFrame({"a": [1]})
    ti = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=1)
    context = {"ti": ti}
    one = airfreight.put(airfreight.options(frame, format="arrow"), context=context)
    two, three = airfreight.put_many(
        [airfreight.options(frame, format="arrow"), frame], context=context
    )
    assert [ref.to_dict()["uri"].rpartition(".")[2] for ref in (one, two, three)] == [
        "arrow",
        "arrow",
        "parquet",
    ]
    assert_same(airfreight.get(one), frame)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([1, {"a": "WRAPPED"}], "value[1]['a']"),
        ({"big": "x" * 50_000, "a": ("WRAPPED",)}, "value['a'][0]"),
        (airfreight.mappable([1, "WRAPPED"]), "value[1]"),
        (airfreight.mappable({"k": ["WRAPPED"]}), "value['k'][0]"),
    ],
    ids=["list", "large", "mappable", "mappable-dict"],
)
@pytest.mark.parametrize("inner", [[1], "text", pd.DataFrame({"a": [1]})], ids=["l", "s", "f"])
def test_options_inside_a_value_are_refused_with_their_place(
    push: Callable[..., Any], value: Any, place: str, inner: Any
) -> None:
    def filled(part: Any) -> Any:
        if isinstance(part, str):
            return airfreight.options(inner, format="arrow") if part == "WRAPPED" else part
        if isinstance(part, Mapping):
            made: Any = {key: filled(one) for key, one in part.items()}
        elif isinstance(part, Sequence):
            made = [filled(one) for one in part]
        else:
            return part
        return airfreight.mappable(made) if type(part) not in (dict, list, tuple) else made

    with pytest.raises(TypeError) as raised:
        push(filled(value), pickle="allow")
    assert str(raised.value).startswith(f"{place}: airfreight.options(…) lies inside a value")


def test_the_order_of_mappable_and_options_is_no_matter(push: Callable[..., Any]) -> None:
    inner = airfreight.mappable(airfreight.options([1], format="arrow"))
    outer = airfreight.options(airfreight.mappable([1]), format="arrow")
    assert (type(inner), inner.said, list(inner)) == (type(outer), outer.said, [1])
    assert push(inner)["_xcom_type"] == push(outer)["_xcom_type"] == "mappable"


def test_options_of_options_in_a_list_are_refused(push: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"value\[0\]"):
        push(airfreight.options([airfreight.options([1], format="arrow")], format="arrow"))


def test_options_inside_a_value_are_refused_where_nothing_is_written(
    push: Callable[..., Any],
) -> None:
    value = {"a": airfreight.options([1], format="arrow")}
    for one in (value, airfreight.mappable(value)):
        with pytest.raises(TypeError, match=r"value\['a'\]: airfreight\.options"):
            push(one, threshold="-1")


def test_what_is_asked_of_a_defaultdict_is_not_put_into_it() -> None:
    value = collections.defaultdict(list, {"a": [1]})
    wrapped = airfreight.options(value, format="arrow")
    assert wrapped.get("b") is None
    assert wrapped.get("b", 5) == 5
    assert wrapped.get("a") == [1]
    assert "b" not in wrapped
    assert value == {"a": [1]}


# --- What a rule lets a task say ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dag", "options"),
    [
        ("other", {"retention": "30d", "compression": "zstd", "format": "arrow"}),
        ("hr", {"retention": "36h"}),
        ("hr", {"retention": "7d", "store": "default"}),  # As it is anyway.
        ("lab", {"describe": "size", "threshold": "1KiB", "max_size": 5}),
        ("vault", {"format": "parquet"}),
        ("cap", {"max_size": 999}),
    ],
)
def test_what_a_rule_allows_is_taken(
    push: Callable[..., Any], dag: str, options: dict[str, Any]
) -> None:
    assert push(airfreight.options([1], **options), dag) == [1]


@pytest.mark.parametrize(
    ("dag", "options", "message"),
    [
        (
            "hr",
            {"retention": "30d"},
            (
                "retention = 30d is longer than the 7d of rule 'personal', line 7 of {policy}; a "
                "DAG may only shorten it"
            ),
        ),
        ("hr", {"retention": "forever"}, "retention = forever is longer than the 7d of rule"),
        (
            "cap",
            {"max_size": 2000},
            (
                "max_size = 2000 is more than the 1000 of rule 'cap', line 22 of {policy}; a DAG "
                "may only lower it"
            ),
        ),
        ("cap", {"max_size": 0}, "max_size = 0 (no limit) is more than the 1000 of rule 'cap'"),
        (
            "hr",
            {"threshold": 5},
            (
                "threshold = 5 is refused: rule 'personal', line 4 of {policy}, lets a DAG change "
                "compression, format, retention and nothing else. Here threshold is 32768; a rule "
                "with threshold in its may_change allows it"
            ),
        ),
        (
            "lab",
            {"format": "arrow"},
            (
                "format = arrow is refused: rule 'open', line 12 of {policy}, lets a DAG change "
                "describe, max_size, threshold and nothing else."
            ),
        ),
        (
            "vault",
            {"compression": "zstd"},
            (
                "compression = zstd is refused: rule 'closed', line 17 of {policy}, lets a DAG "
                "change nothing. Here compression is snappy; "
            ),
        ),
        (
            "hr",
            {"store": "eu"},
            (
                "store = eu is refused: rule 'personal', line 4 of {policy}, lets a DAG change "
                "compression, format, retention and nothing else. Here store is default; no rule "
                "can allow it"
            ),
        ),
        ("other", {"encryption_key": "k"}, "encryption_key = k is refused: no rule of {policy} "),
        ("lab", {"preview_rows": 5}, "preview_rows = 5 is refused: rule 'open', line 12 of "),
        ("lab", {"may_change": "format"}, "may_change = format is refused: rule 'open', line 12"),
    ],
)
def test_what_a_rule_does_not_allow_names_option_rule_and_line(
    push: Callable[..., Any], tmp_path: Path, dag: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(airfreight.InvalidError) as raised:
        push(airfreight.options(pd.DataFrame({"a": [1]}), **options), dag)
    assert raised.value.message.startswith(
        "airfreight.options: " + message.format(policy=tmp_path / "policy.toml")
    )
    assert f"dag '{dag}'" in str(raised.value)
    assert not list((tmp_path / "store").rglob("*.*"))


def test_without_a_policy_the_first_three_may_be_said(push: Callable[..., Any]) -> None:
    assert push(airfreight.options([1], retention="7d", format="arrow"), policy=False) == [1]
    with pytest.raises(airfreight.InvalidError, match="digest = sha256 is refused: no policy is s"):
        push(airfreight.options([1], digest="sha256"), policy=False)

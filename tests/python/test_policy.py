# mypy: disable-error-code="untyped-decorator,no-any-return"
"""The policy: what tasks log and how their arguments are rendered, with Airflow's own operators."""

from __future__ import annotations

import copy
import datetime
import functools
import logging
import pickle
import subprocess
import sys
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from pluggy import HookimplMarker

import airfreight
from airflow import settings as airflow_settings
from airfreight import _airflow, _excerpt, arguments, config, exchange, policy

try:
    from airflow.sdk import DAG, task, task_group
except ImportError:
    from airflow.decorators import task, task_group
    from airflow.models.dag import DAG
try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.python import PythonOperator
except ImportError:
    from airflow.operators.bash import BashOperator
    from airflow.operators.python import PythonOperator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.python.conftest import Box

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
#: More than any page of rendered templates shows.
MANY = 20_000
#: How many elements are looked at, at the most: 8,192 characters in two places, three for each.
FEW = 6_000


@pytest.fixture(autouse=True)
def ours(box: Box) -> None:
    """All of the policy is on, and Airflow has found its backend, as wherever a DAG is read."""
    box.set(render_whole_arguments=False)
    assert airfreight.XComBackend in _airflow.backend_in_use().__mro__


def dag_of(**options: Any) -> DAG:
    return DAG("d", start_date=START, schedule=None, **options)


def give() -> int:
    return 1


# Returned values in logs.


def shown(made: Any) -> Any:
    """What the operator of a task, mapped or not, has after the policy."""
    airflow_settings.task_policy(made)
    if hasattr(made, "partial_kwargs"):
        return made.partial_kwargs.get("show_return_value_in_logs")
    return getattr(made, "show_return_value_in_logs", None)


def decorated(call: Any) -> Any:
    """The operator behind what a decorated function returned."""
    return call.operator


CHOICES = {
    "default": ({}, {}, False),
    "yes": ({"show_return_value_in_logs": True}, {}, True),
    "no": ({"show_return_value_in_logs": False}, {}, False),
    "yes for the DAG": ({}, {"show_return_value_in_logs": True}, True),
    "no for the DAG": ({}, {"show_return_value_in_logs": False}, False),
    "no, in a DAG of yes": (
        {"show_return_value_in_logs": False},
        {"show_return_value_in_logs": True},
        False,
    ),
}


@pytest.mark.parametrize("case", CHOICES)
def test_a_task_logs_its_value_only_where_its_dag_says_so(case: str) -> None:
    own, defaults, expected = CHOICES[case]
    with dag_of(default_args=defaults):
        assert shown(PythonOperator(task_id="a", python_callable=give, **own)) is expected
        assert shown(decorated(task(task_id="b", **own)(give)())) is expected


@pytest.mark.parametrize("case", CHOICES)
def test_a_mapped_task_logs_its_values_only_where_its_dag_says_so(case: str) -> None:
    own, defaults, expected = CHOICES[case]

    def f(x: int) -> int:
        return x

    with dag_of(default_args=defaults):
        made = (
            decorated(task(task_id="a", **own)(f).expand(x=[1])),
            PythonOperator.partial(task_id="b", python_callable=f, **own).expand(op_args=[[1]]),
        )
    for one in made:
        airflow_settings.task_policy(one)
        unmapped = one.unmap({"op_kwargs": {"x": 1}} if one.task_id == "a" else {"op_args": [1]})
        assert unmapped.show_return_value_in_logs is expected, one.task_id


def test_a_choice_of_a_task_group_is_one_of_the_dag() -> None:
    @task_group(default_args={"show_return_value_in_logs": True})
    def group() -> None:
        task(task_id="a")(give)()
        task(task_id="b")(lambda x: x).expand(x=[1])

    with dag_of() as dag:
        group()
    assert shown(dag.get_task("group.a")) is True
    assert shown(dag.get_task("group.b")) is not False


def test_a_choice_among_what_is_expanded_is_not_made_twice() -> None:
    def kwargs() -> list[dict[str, Any]]:
        return [{"op_args": [1]}]

    with dag_of():
        made = PythonOperator.partial(task_id="a", python_callable=give)
        assert shown(made.expand(show_return_value_in_logs=[True])) is None
        made = PythonOperator.partial(task_id="b", python_callable=give)
        assert shown(made.expand_kwargs([{"show_return_value_in_logs": True}])) is None
        made = PythonOperator.partial(task_id="c", python_callable=give)
        assert shown(made.expand_kwargs([{"op_args": [1]}])) is False
        # What it holds is known when it runs.
        made = PythonOperator.partial(task_id="d", python_callable=give)
        assert shown(made.expand_kwargs(task(kwargs)())) is None


def test_other_operators_are_left_alone() -> None:
    class Other(BashOperator):  # type: ignore[misc]
        show_return_value_in_logs = True

    with dag_of():
        made = Other(task_id="a", bash_command="true")
    before = dict(vars(made))
    airflow_settings.task_policy(made)
    assert vars(made) == before


@pytest.mark.parametrize(
    "options",
    [
        {"log_return_values": True, "render_whole_arguments": True},
        {"threshold": -1},
        {"threshold": "much"},
    ],
    ids=["turned off", "only reads", "a wrong setting"],
)
def test_nothing_is_changed_where(box: Box, options: dict[str, Any]) -> None:
    box.set(**options)
    with dag_of():
        upstream = task(give)()
        made = decorated(task(task_id="a")(lambda x: x)(upstream))
    before = made.op_args
    assert shown(made) is True
    assert made.op_args is before


def test_a_task_may_still_set_variables_for_itself_after_its_dag_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with dag_of():
        shown(PythonOperator(task_id="a", python_callable=give))
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__THRESHOLD", "7")
    assert config.settings().threshold == 7


def test_nothing_is_changed_under_another_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_airflow, "backend_in_use", lambda: exchange.BaseXCom)
    with dag_of():
        assert shown(PythonOperator(task_id="a", python_callable=give)) is True


def test_an_administrators_own_policy_has_the_last_word() -> None:
    class Theirs:
        @staticmethod
        def task_policy(task: Any) -> None:
            assert task.show_return_value_in_logs is False, "theirs is called first"
            task.show_return_value_in_logs = True

    manager = policy_manager()
    impl = HookimplMarker("airflow.policy")(Theirs.task_policy)
    Theirs.task_policy = staticmethod(impl)  # type: ignore[method-assign]
    manager.register(Theirs)
    try:
        with dag_of():
            assert shown(PythonOperator(task_id="a", python_callable=give)) is True
    finally:
        manager.unregister(Theirs)


def policy_manager() -> Any:
    if hasattr(airflow_settings, "get_policy_plugin_manager"):
        return airflow_settings.get_policy_plugin_manager()
    return airflow_settings.POLICY_PLUGIN_MANAGER


def test_a_task_that_the_policy_stumbles_over_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("something new in Airflow")

    monkeypatch.setattr(policy, "_quiet", fail)
    monkeypatch.setattr(policy, "_failed", False)
    with caplog.at_level("WARNING", logger="airfreight"), dag_of():
        assert shown(PythonOperator(task_id="a", python_callable=give)) is True
        assert shown(PythonOperator(task_id="b", python_callable=give)) is True
    assert len(caplog.records) == 1
    assert "task a, which stays as it is" in caplog.text
    assert "something new in Airflow" in caplog.text


def test_airflow_finds_the_policy() -> None:
    assert {one.value for one in entry_points(group="airflow.policy")} == {"airfreight.policy"}
    plugins = [one.plugin for one in policy_manager().hook.task_policy.get_hookimpls()]
    assert policy in plugins


def test_importing_the_policy_loads_nothing_of_the_package_but_itself() -> None:
    code = (
        "import pluggy, logging, sys; before = set(sys.modules); import airfreight.policy; "
        "new = set(sys.modules) - before; "
        "assert new == {'airfreight', 'airfreight.policy'}, new"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# Arguments.


class Counting(list):  # type: ignore[type-arg]
    """A list that counts the elements that it was asked for."""

    def __init__(self, items: Any) -> None:
        super().__init__(items)
        self.seen = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.seen += 1
            yield item


class Instance:
    """As much of a task instance as rendering needs."""

    def __init__(self, values: dict[str, Any], map_index: int = -1) -> None:
        self.values = values
        self.task: Any = None
        self.hostname = ""
        self.dag_id, self.run_id, self.map_index = "d", "r", map_index

    def xcom_pull(self, task_ids: Any = None, **_: Any) -> Any:
        return self.values[task_ids]

    def get_relevant_upstream_map_indexes(self, *_: Any, **__: Any) -> None:
        return None


def fields_of(operator: Any) -> dict[str, Any]:
    """What Airflow keeps of the rendered arguments."""
    if exchange.ROWS_ARE_BYTES:
        from airflow.models.renderedtifields import get_serialized_template_fields

        found: dict[str, Any] = get_serialized_template_fields(task=operator)
        return found
    from airflow.sdk.execution_time.task_runner import _serialize_rendered_fields

    return _serialize_rendered_fields(operator)


def context_of(made: Any, values: dict[str, Any]) -> dict[str, Any]:
    instance = Instance(values)
    instance.task = made.prepare_for_execution()
    return {
        "ti": instance,
        "task": instance.task,
        "dag": made.dag,
        "dag_run": SimpleNamespace(conf={}),
        "params": {},
        "expanded_ti_count": None,
    }


def render(context: dict[str, Any]) -> None:
    """Has the task's arguments rendered by what Airflow runs tasks with."""
    instance = context["ti"]
    if exchange.ROWS_ARE_BYTES:
        from airflow.models import taskinstance

        # As the method of this name, which needs a database for all else that it does.
        body = (
            "def _execute_task_with_callbacks(ti, context):\n"
            "    TaskInstance.render_templates(ti, context=context)\n"
        )
        part = dict(vars(taskinstance))
        exec(body, part)
        part["_execute_task_with_callbacks"](instance, context)
        return
    from airflow.sdk.execution_time import task_runner

    type(instance).render_templates = task_runner.RuntimeTaskInstance.render_templates
    with mock.patch.object(task_runner, "SUPERVISOR_COMMS", mock.Mock(), create=True):
        task_runner._prepare(instance, mock.Mock(), context)


def prepare(
    made: Any, values: dict[str, Any], **more: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Renders a task's arguments as Airflow does before it executes the task.

    Returns the operator, its context, and what Airflow keeps of the arguments.
    """
    context = {**context_of(made, values), **more}
    render(context)
    operator = context["ti"].task
    return operator, context, fields_of(operator)


def run_hooks(operator: Any, context: dict[str, Any]) -> None:
    """As `_execute_task` and `_execute_task_with_callbacks`."""
    if exchange.ROWS_ARE_BYTES:
        context["outlet_events"] = {}
        operator.pre_execute(context)
        return
    from airflow.sdk.execution_time.callback_runner import create_executable_runner

    hook = operator._pre_execute_hook
    if hook is not None:
        create_executable_runner(hook, {}, logger=logging.getLogger("tests")).run(context)


def taking(**options: Any) -> Any:
    """A task `take` with one argument from task `make`, after the policy."""
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        task(task_id="take", **options)(lambda *args, **kwargs: (args, kwargs))(made, other=made)
    airflow_settings.task_policy(dag.get_task("take"))
    return dag.get_task("take")


def test_a_large_argument_is_rendered_in_part_and_arrives_whole() -> None:
    value = Counting({"n": n, "name": f"name {n}"} for n in range(MANY))
    operator, context, kept = prepare(taking(), {"make": value})
    # Once by us, for each of the two places; Airflow sees the excerpt.
    assert 0 < value.seen < FEW
    run_hooks(operator, context)
    assert operator.op_args[0] is value
    assert operator.op_kwargs["other"] is value
    assert all("Truncated" in str(kept[name]) for name in ("op_args", "op_kwargs"))


@pytest.mark.parametrize(
    "value",
    [
        [{"n": n, "password": f"secret {n}", "π": None} for n in range(MANY)],
        {f"key {n:09}": [n, -1.5, True, None] for n in range(MANY)},
        "a text with 'quotes' " * MANY,
        b"\x00bytes" * MANY,
        [[["deep"] * MANY]],
        tuple((n, str(n)) for n in range(MANY)),
    ],
    ids=["records", "dict", "text", "bytes", "deep", "tuples"],
)
def test_what_is_kept_of_a_large_argument_is_what_airflow_would_keep(box: Box, value: Any) -> None:
    _, _, ours = prepare(taking(), {"make": value})
    box.set(render_whole_arguments=True)
    _, _, theirs = prepare(taking(), {"make": value})
    assert ours == theirs


@pytest.mark.parametrize(
    "value", [5, "text", None, [1, {"a": (2,)}], {"a": list(range(100))}, object()], ids=repr
)
def test_a_small_argument_goes_its_usual_way(value: Any) -> None:
    operator, _, _ = prepare(taking(), {"make": value})
    assert operator.op_args[0] is value
    assert operator._pre_execute_hook is None


def test_references_inside_lists_and_dicts_are_bounded_too() -> None:
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        literal = {"a": [made, 1], "b": (made,), "c": "{{ 1 + 1 }}"}
        task(task_id="take")(lambda x: x)(literal)
    airflow_settings.task_policy(dag.get_task("take"))
    value = Counting(range(MANY))
    operator, context, _ = prepare(dag.get_task("take"), {"make": value})
    assert value.seen < FEW
    run_hooks(operator, context)
    (found,) = operator.op_args
    assert found["a"][0] is value
    assert found["b"][0] is value
    assert (found["a"][1], found["c"]) == (1, "2")
    assert list(literal) == ["a", "b", "c"], "the DAG's own dict is as it was"
    assert type(literal["a"][0]) is type(made)


def test_what_stands_beside_a_large_argument_is_not_walked_through() -> None:
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        task(task_id="take")(lambda x, y: x)([made], y=0)
    take = dag.get_task("take")
    airflow_settings.task_policy(take)
    value, beside = Counting(range(MANY)), Counting(range(MANY))
    operator, context, _ = prepare(take, {"make": value})
    # As what Airflow puts there for an instance of a mapped task.
    operator.op_kwargs = {"y": beside}
    run_hooks(operator, context)
    assert operator.op_args[0][0] is value
    assert operator.op_kwargs["y"] is beside
    assert beside.seen == 0


def test_an_argument_of_all_instances_of_a_mapped_task_is_bounded() -> None:
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        task(task_id="take")(lambda big, x: (big, x)).partial(big=made).expand(x=[1, 2])
    mapped = dag.get_task("take")
    airflow_settings.task_policy(mapped)
    value = Counting(range(MANY))
    operator = mapped.unmap({"op_kwargs": {"x": 1}})
    operator, context, _ = prepare(operator, {"make": value})
    assert value.seen < FEW
    run_hooks(operator, context)
    assert operator.op_kwargs == {"big": value, "x": 1}
    assert operator.op_kwargs["big"] is value


def test_what_a_dag_has_the_task_do_before_it_executes_finds_the_values() -> None:
    found = []

    def look(context: Any) -> None:
        found.append(context["ti"].task.op_args[0])

    value = Counting(range(MANY))
    operator, context, _ = prepare(taking(pre_execute=look), {"make": value})
    run_hooks(operator, context)
    assert len(found) == 1
    assert found[0] is value


def test_a_hook_that_yields_is_still_one() -> None:
    found = []

    def look(context: Any) -> Iterator[Any]:
        found.append(context["ti"].task.op_args[0])
        yield from ()

    value = list(range(MANY))
    operator, context, _ = prepare(taking(pre_execute=look), {"make": value})
    assert operator._pre_execute_hook is look
    run_hooks(operator, context)
    assert len(found) == 1
    assert found[0] is value
    assert operator.op_args[0] is value


@pytest.mark.parametrize("name", ["pre_execute", "render_template_fields"])
def test_operators_that_prepare_in_their_own_way_get_the_values_at_once(name: str) -> None:
    class Own(PythonOperator):  # type: ignore[misc]
        pass

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(PythonOperator, name)(self, *args, **kwargs)

    setattr(Own, name, method)
    with dag_of():
        made = task(task_id="make")(give)()
        own = Own(task_id="own", python_callable=give, op_args=[made])
    before = own.op_args
    airflow_settings.task_policy(own)
    assert own.op_args is before


def test_a_reference_that_is_the_whole_list_of_arguments_goes_its_usual_way() -> None:
    with dag_of():
        made = task(task_id="make")(give)()
        own = PythonOperator(task_id="own", python_callable=give, op_args=made)
    airflow_settings.task_policy(own)
    value = list(range(MANY))
    operator, _, _ = prepare(own, {"make": value})
    assert operator.op_args is value


def test_an_error_while_an_excerpt_is_made_leaves_the_value_as_it_is() -> None:
    class Broken(list):  # type: ignore[type-arg]
        broken = True

        def __iter__(self) -> Iterator[Any]:
            if self.broken:
                self.broken = False
                raise RuntimeError("not now")
            return super().__iter__()

    value = Broken([1, 2])
    operator, _, _ = prepare(taking(), {"make": value})
    assert operator.op_args[0] is value


def test_a_polars_frame_is_rendered_as_its_short_text() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"n": list(range(1000))})
    operator, context, kept = prepare(taking(), {"make": frame})
    assert "shape: (1_000, 1)" in str(kept["op_args"])
    run_hooks(operator, context)
    assert operator.op_args[0] is frame


def test_a_reference_that_is_copied_or_pickled_is_the_one_that_it_was() -> None:
    take = taking()
    (bounded,) = take.op_args
    (plain,) = (one for one in type(bounded).__mro__[1:2])
    assert type(copy.copy(bounded)) is plain
    assert repr(bounded) == repr(copy.copy(bounded))
    assert type(copy.deepcopy(take).op_args[0]) is plain
    if not exchange.ROWS_ARE_BYTES:
        bounded.operator.dag = None
    state = bounded.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    assert plain in state[1]


def test_a_dag_is_serialized_as_without_the_policy() -> None:
    def serialized(*, adapted: bool) -> Any:
        with dag_of() as dag:
            made = task(task_id="make", show_return_value_in_logs=False)(give)()
            take = task(show_return_value_in_logs=False)(lambda x, y=None: x)
            take.override(task_id="plain")(made, y={"a": [made]})
            take.override(task_id="mapped").partial(x=made).expand(y=[1, 2])

            @task_group
            def group(x: int) -> None:
                take.override(task_id="grouped")(x, y=made)

            group.expand(x=made)
        if adapted:
            for one in dag.tasks:
                airflow_settings.task_policy(one)
            assert type(dag.get_task("plain").op_args[0]) in arguments._bounded.values()
            assert type(dag.get_task("group.grouped").op_args[0]) in arguments._bounded.values()
        if exchange.ROWS_ARE_BYTES:
            from airflow.serialization.serialized_objects import SerializedDAG

            return SerializedDAG.to_dict(dag)
        from airflow.serialization.serialized_objects import DagSerialization

        return DagSerialization.to_dict(dag)

    assert serialized(adapted=True) == serialized(adapted=False)


# Secrets.

#: As long as the tokens of some identity providers.
SECRET = "eyJ" + "".join(chr(ord("a") + n * n % 26) for n in range(1200))


@pytest.fixture
def secret() -> Iterator[str]:
    """A secret that Airflow masks."""
    masker = _airflow.Masker
    names = [name for name in _airflow._MASKERS if "_secrets_masker" in vars_of(name)]
    kept = [vars_of(name)["_secrets_masker"]() for name in names]
    before = [(one, set(one.patterns), one.replacer) for one in kept]
    for one in kept:
        # (Airflow 2 masks secrets of one letter, too, which another test may have left.)
        one.patterns, one.replacer = set(), None
        one.add_mask(SECRET)
    assert masker().redact(f"a {SECRET} b") == "a *** b"
    yield SECRET
    for one, patterns, replacer in before:
        one.patterns, one.replacer = patterns, replacer


def vars_of(name: str) -> dict[str, Any]:
    return vars(sys.modules[name]) if name in sys.modules else {}


def clear(kept: Any) -> int:
    """How many characters of the secret are shown at one place."""
    text = str(kept)
    return max((n for n in range(5, len(SECRET) + 1) if SECRET[:n] in text), default=0)


WITH_SECRETS: dict[str, Any] = {
    "records": lambda: [{"url": f"u{n}", "auth": f"Bearer {SECRET}"} for n in range(200)],
    "text": lambda: "\n".join(f"curl -H 'Bearer {SECRET}' u{n}" for n in range(200)),
    "bytes": lambda: "\n".join(f"curl -H 'Bearer {SECRET}' u{n}" for n in range(200)).encode(),
    "texts": lambda: ["\n".join([SECRET] * 20)] * 20,
    # Airflow 3 sorts: what was cut comes first.
    "last first": lambda: {"z": "z" * 3000, "a": ("y" * 6000 + SECRET) * 9},
}


@pytest.mark.parametrize("case", WITH_SECRETS)
@pytest.mark.parametrize("before", [0, 1, 500, 3000, 7000])
def test_no_part_of_a_secret_is_shown(secret: str, case: str, before: int) -> None:
    value = WITH_SECRETS[case]()
    value = {"p": "x" * before, **value} if isinstance(value, dict) else ["x" * before, value]
    assert secret in str(value)
    operator, context, kept = prepare(taking(), {"make": value})
    assert clear(kept) == 0
    run_hooks(operator, context)
    assert operator.op_args[0] is value
    assert operator.op_kwargs["other"] is value


@pytest.mark.parametrize("kind", ["text", "bytes", "dict"])
@pytest.mark.parametrize("before", range(0, 3000, 250))
def test_no_excerpt_ends_in_a_secret(secret: str, kind: str, before: int) -> None:
    text = "x" * before + ("y" * 1500 + secret) * 50
    value = {"text": text, "bytes": text.encode(), "dict": {"z": 1, "a": text}}[kind]
    is_cut, shown = _excerpt.excerpt(value, 4096)
    assert is_cut
    seen = _airflow.Masker().redact(str(shown))
    assert secret[:5] not in seen
    assert len(seen) > 4096


def test_no_part_of_a_secret_over_several_elements_is_shown() -> None:
    """Airflow 2 masks a text of all of a value."""
    digits = ", ".join(str(n % 7) for n in range(1500))
    names = [name for name in _airflow._MASKERS if "_secrets_masker" in vars_of(name)]
    masker = vars_of(names[0])["_secrets_masker"]()
    before = masker.patterns, masker.replacer
    masker.patterns = set(masker.patterns)
    try:
        masker.add_mask(digits)
        _, _, kept = prepare(taking(), {"make": [n % 7 for n in range(1500)] * 20})
        texts = str(kept)
    finally:
        masker.patterns, masker.replacer = before
    if exchange.ROWS_ARE_BYTES:
        assert digits[:90] not in texts


def test_what_is_masked_whole_goes_its_usual_way() -> None:
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        task(task_id="take")(lambda **kwargs: kwargs)(password=made)
    take = dag.get_task("take")
    airflow_settings.task_policy(take)
    value = list(range(MANY))
    operator, _, _ = prepare(take, {"make": value})
    assert operator.op_kwargs["password"] is value


def test_what_has_a_text_of_its_own_is_not_walked_through() -> None:
    class Hidden(dict):  # type: ignore[type-arg]
        def __repr__(self) -> str:
            return "hidden"

    value = [Hidden({"a": "plain" * MANY}), Hidden()]
    operator, _, kept = prepare(taking(), {"make": value})
    assert operator.op_args[0] is value
    if exchange.ROWS_ARE_BYTES:
        assert "plain" not in str(kept)


# Nothing but a value is seen.


def holds(operator: Any) -> bool:
    found = [*operator.op_args, *operator.op_kwargs.values()]
    return any(type(one) is arguments._Held for one in found)


def test_a_large_argument_is_held_while_it_is_rendered() -> None:
    """What the tests below show to be off is on."""
    operator, context, _ = prepare(taking(), {"make": list(range(MANY))})
    assert holds(operator)
    run_hooks(operator, context)
    assert not holds(operator)


@pytest.mark.parametrize("when", ["on the operator", "in the class", "in the class, with its name"])
def test_a_pre_execute_that_is_put_in_the_place_of_airflows_gets_the_values(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = taking()
    seen = []

    def look(*args: Any, context: Any) -> None:
        seen.append(context["ti"].task.op_args[0])

    if when == "on the operator":
        made.pre_execute = look
    else:
        base: Any = next(one for one in type(made).__mro__ if "pre_execute" in vars(one))
        if when.endswith("name"):
            look = functools.wraps(base.pre_execute)(look)
        monkeypatch.setattr(base, "pre_execute", look)
    value = list(range(MANY))
    operator, context, _ = prepare(made, {"make": value})
    operator.pre_execute(context=context)
    assert seen[0] is value


def test_arguments_that_are_rendered_outside_of_a_run_are_values() -> None:
    made = taking()
    value = list(range(MANY))
    context = context_of(made, {"make": value})
    context["task"].render_template_fields(context)
    assert context["task"].op_args[0] is value
    assert context["task"].op_kwargs["other"] is value


def test_arguments_of_another_task_that_a_task_renders_are_values() -> None:
    made = taking()
    value = list(range(MANY))
    operator, context, _ = prepare(made, {"make": value})
    run_hooks(operator, context)
    other = taking().prepare_for_execution()
    other.render_template_fields(context)
    assert other.op_args[0] is value
    assert taking().op_args[0].resolve(context) is value


def test_a_reference_of_another_task_is_a_value_while_this_one_is_rendered() -> None:
    other = taking()
    value = list(range(MANY))
    seen: list[Any] = []

    class Asks(Instance):
        def xcom_pull(self, task_ids: Any = None, **more: Any) -> Any:
            if not seen:
                seen.append(None)
                seen[0] = other.op_args[0].resolve(context)
            return value

    context = context_of(taking(), {})
    instance = Asks({"make": value})
    instance.task = context["task"]
    context["ti"] = instance
    render(context)
    assert seen[0] is value
    assert holds(context["ti"].task)


def test_a_reference_is_known_by_itself_in_its_place() -> None:
    one, other = taking(), taking()
    place = ("op_args", 0)
    assert arguments._is_there(one.op_args[0], one, place)
    assert not arguments._is_there(other.op_args[0], one, place)
    assert not arguments._is_there(one.op_args[0], one, ("op_kwargs", "other"))


def test_the_operators_own_hook_is_put_back() -> None:
    def look(context: Any) -> None:
        pass

    def fail(context: Any) -> None:
        pass

    operator, context, _ = prepare(
        taking(pre_execute=look, on_failure_callback=fail), {"make": list(range(MANY))}
    )
    assert operator._pre_execute_hook is not look
    run_hooks(operator, context)
    assert operator._pre_execute_hook is look
    assert operator.on_failure_callback in (fail, [fail])


def test_a_callback_for_what_fails_before_the_task_executes_finds_the_values() -> None:
    found = []

    def look(context: Any) -> None:
        found.append(context["ti"].task.op_args[0])

    value = list(range(MANY))
    operator, context, _ = prepare(taking(on_failure_callback=look), {"make": value})
    for one in operator.on_failure_callback:
        one(context)
    assert len(found) == 1
    assert found[0] is value


def test_a_pull_that_fails_leaves_no_value_held() -> None:
    class Fails(dict):  # type: ignore[type-arg]
        count = 0

        def __getitem__(self, key: Any) -> Any:
            self.count += 1
            if self.count > 1:
                raise RuntimeError("the store is gone")
            return super().__getitem__(key)

    value = list(range(MANY))
    context = context_of(taking(), Fails(make=value))
    with pytest.raises(RuntimeError, match="the store is gone"):
        render(context)
    assert context["ti"].task.op_args[0] is value
    assert context["ti"].task._pre_execute_hook is None


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ("{{ task.op_args[0] | length }}", str(MANY)),
        ({"deep": ["{{ task.op_args[0][5] }}"]}, {"deep": ["5"]}),
        ("{% if task.op_args[0] %}yes{% endif %}", "yes"),
    ],
    ids=str,
)
def test_a_template_that_reads_another_argument_reads_the_value(later: Any, expected: Any) -> None:
    with dag_of():
        made = task(task_id="make")(give)()
        own = PythonOperator(
            task_id="own", python_callable=give, op_args=[made], op_kwargs={"n": later}
        )
    airflow_settings.task_policy(own)
    operator, _, _ = prepare(own, {"make": list(range(MANY))})
    assert operator.op_kwargs["n"] == expected


def test_a_template_beside_a_large_argument_is_rendered_and_the_argument_held() -> None:
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        task(task_id="take")(lambda *args: args)(made, "{{ 1 + 1 }}")
    take = dag.get_task("take")
    airflow_settings.task_policy(take)
    operator, context, _ = prepare(take, {"make": list(range(MANY))})
    assert holds(operator)
    run_hooks(operator, context)
    assert operator.op_args[1] == "2"


def test_a_map_index_template_reads_the_value() -> None:
    value = list(range(MANY))
    operator, _, _ = prepare(taking(), {"make": value}, map_index_template="{{ task.op_args }}")
    assert operator.op_args[0] is value


def test_a_listener_gets_the_value() -> None:
    if exchange.ROWS_ARE_BYTES:
        pytest.skip("Airflow 2 calls listeners when the values are out again")
    from airflow.sdk.execution_time.task_runner import get_listener_manager

    seen = []

    class Listener:
        @staticmethod
        @HookimplMarker("airflow")  # type: ignore[misc, unused-ignore]
        def on_task_instance_running(task_instance: Any) -> None:
            seen.append(task_instance.task.op_args[0])

    manager = get_listener_manager()
    listener = Listener()
    manager.pm.register(listener)
    value = list(range(MANY))
    try:
        prepare(taking(), {"make": value})
    finally:
        manager.pm.unregister(listener)
    assert seen[0] is value


def test_references_compare_as_without_the_policy() -> None:
    with dag_of() as dag:
        made = task(task_id="make")(give)()
        other = task(task_id="other")(give)()
        task(task_id="take")(lambda x: x)(made)
    take = dag.get_task("take")
    plain = take.op_args[0]
    airflow_settings.task_policy(take)
    bounded = take.op_args[0]
    assert type(bounded) is not type(plain)
    assert (bounded == plain) is (plain == bounded) is (bounded == bounded) is True  # noqa: PLR0124
    assert bounded == made
    assert bounded != other
    assert bounded != 1
    assert type(bounded).__hash__ is type(plain).__hash__


def test_operators_that_pass_the_choice_themselves_can_be_mapped() -> None:
    class Quiet(PythonOperator):  # type: ignore[misc]
        def __init__(self, **more: Any) -> None:
            super().__init__(python_callable=give, show_return_value_in_logs=False, **more)

    class Strict(PythonOperator):  # type: ignore[misc]
        def __init__(self, **more: Any) -> None:
            if "show_return_value_in_logs" in more:
                raise TypeError("got an unexpected keyword argument")
            super().__init__(python_callable=give, **more)

    class Plain(PythonOperator):  # type: ignore[misc]
        pass

    with dag_of():
        made = [one.partial(task_id=one.__name__) for one in (Quiet, Strict)]
        made.append(Plain.partial(task_id="Plain", python_callable=give))
        mapped = [one.expand(op_args=[[1]]) for one in made]
    for one in mapped:
        airflow_settings.task_policy(one)
    shown = [one.unmap({"op_args": [1]}).show_return_value_in_logs for one in mapped]
    assert shown == [False, True, False]


def test_mapped_tasks_are_left_alone_where_airflow_goes_by_the_class_of_a_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def serialize_xcom_arg(value: Any) -> Any:
        raise StopIteration

    with dag_of() as dag:
        made = task(task_id="make")(give)()
        task(task_id="take")(lambda big, x: (big, x)).partial(big=made).expand(x=[1, 2])
    mapped = dag.get_task("take")
    # As in Airflow 2.9.
    there: Any = SimpleNamespace(serialize_xcom_arg=serialize_xcom_arg)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "airflow.models.xcom_arg", there)
        airflow_settings.task_policy(mapped)
    assert type(mapped.partial_kwargs["op_kwargs"]["big"]) not in arguments._bounded.values()


# The line in the log.


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """What a task logs of its pushes."""
    monkeypatch.setenv("AIRFLOW_CTX_TASK_ID", "extract")
    logger = logging.getLogger("airflow.task.airfreight")
    handler = Lines()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.setLevel(before)
    logger.removeHandler(handler)


def test_each_push_is_one_line_with_type_size_and_place(box: Box, lines: Lines) -> None:
    stored = box.fields(box.push(b"secret" * 1000))
    box.push({"secret": 1}, key="small")
    box.push(("secret", 2), key="document")
    box.push(["secret"] * 10_000, key="large")
    assert len(lines.said) == 4
    assert lines.said[0] == f"XCom 'return_value': bytes, 6.0 kB, is at {stored['uri']}"
    assert lines.said[1] == "XCom 'small': dict, 12 bytes, stays in its row"
    assert lines.said[2].startswith("XCom 'document': tuple, ")
    assert lines.said[2].endswith(", stays in its row")
    assert lines.said[3].startswith("XCom 'large': list, ")
    assert ", is at file://" in lines.said[3]
    assert not any("secret" in line for line in lines.said)


def test_a_push_by_a_backend_that_only_reads_is_one_line(box: Box, lines: Lines) -> None:
    box.set(threshold=-1)
    box.push([1, 2])
    assert lines.said == ["XCom 'return_value': list, stays in its row"]


def test_a_push_outside_of_a_task_is_no_line(
    box: Box, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CTX_TASK_ID")
    box.push({"a": 1})
    assert lines.said == []


def test_what_is_refused_is_no_line(box: Box, lines: Lines) -> None:
    with pytest.raises(TypeError):
        box.push({"a": object()})
    assert lines.said == []

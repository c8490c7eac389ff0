"""Objects that are left to Airflow's serializer come back as they were, or are refused."""

# mypy: disable-error-code="misc, call-arg, import-not-found, dict-item, assignment"

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import importlib
import zoneinfo
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import attr
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored
from tests.python.test_documents import allow

import airfreight

try:
    import pydantic
except ModuleNotFoundError:  # Airflow 2 has none.
    pydantic = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")


class Point(NamedTuple):
    x: int
    y: int


class Number(enum.IntEnum):
    ONE = 1


class Name(str):
    __slots__ = ()


@dataclasses.dataclass
class Data:
    a: Any = None
    b: Any = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(eq=False)
class Unequal:
    a: Any = None


@attr.define
class Slotted:
    a: Any = None


@attr.s
class Attrs:
    a: Any = attr.ib(default=None)
    b: Any = attr.ib(default=None, eq=False)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "Data.a": lambda x: Data(a=x),
    "Data.b": lambda x: Data(b=x),
    "Data.a[]": lambda x: Data(a=[x, {"k": x}]),
    "Unequal.a": Unequal,
    "Slotted.a": lambda x: Slotted(a=x),
    "Attrs.b": lambda x: Attrs(b=x),
}
ONES = [Data(1), Attrs(1)]
GIVEN: list[Any] = []

if pydantic is not None:

    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
        a: Any = None
        b: int = 3
        _p: int = pydantic.PrivateAttr(default=0)

    MAKERS |= {"Model.a": lambda x: Model(a=x), "Model.more": lambda x: Model(more=x)}
    ONES += [Model(a=1, b=2)]
    GIVEN += [Model(), Model(a=1), Model(a=1, b=2), Model(a=Model(b=1))]

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
UTC = datetime.timezone.utc
#: (The members of dicts are in the order that a database gives them: formats/document.md.)
ODD = [
    *((1, 2), Point(1, 2), [(1,)], {1: 2}, {True: 1}, {"a": 1, "b": 2}, frozenset([1]), {1}),
    *(collections.OrderedDict(b=1, a=2), collections.Counter("aab"), collections.deque([1], 3)),
    *(collections.defaultdict(list, {"a": [1]}), Number.ONE, Name("x"), b"a", 1j, "\ud800", "\0"),
    *(decimal.Decimal("1.10"), decimal.Decimal("1E+2"), decimal.Decimal("-0")),
    *(-0.0, 1e22, 2**70, True, Data(1), Unequal(1), Slotted(a=1), None, 1.5, "text", [1]),
    *(datetime.datetime(2021, 1, 1), datetime.datetime(2021, 1, 1, fold=1)),
    *(datetime.datetime(2021, 1, 1, tzinfo=UTC), datetime.datetime(2021, 1, 1, tzinfo=BERLIN)),
    *(datetime.date(2021, 1, 1), datetime.timedelta(1, 2, 3)),
]


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    allow(monkeypatch, "airflow.* tests.python.*")
    yield
    monkeypatch.undo()
    allow(monkeypatch, "airflow.*")
    monkeypatch.undo()


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("item", ODD, ids=repr)
def test_each_field_comes_back_as_it_was_or_the_push_is_refused(
    box: Box, maker: str, item: Any
) -> None:
    try:
        value = MAKERS[maker](item)
    except UnicodeError:
        pytest.skip("pydantic takes no surrogates")
    for whole in (value, [value, 1], (value,)):
        try:
            row = box.push(whole)
        except TypeError as error:
            assert str(error).startswith("value")  # noqa: PT017
            continue
        assert_same(whole, box.pull(stored(row)))


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("value", ONES, ids=repr)
def test_an_element_that_is_left_to_airflow_comes_back(box: Box, value: Any) -> None:
    items = [value, {"a": value, "b": b"x" * 5000}, 3]
    row = stored(box.push(airfreight.mappable(items)))
    found = box.pull(row)
    assert_same(found[0], value)
    assert_same(list(found), items)
    assert_same(airfreight.get(box.fields(row), 0), value)
    inner = box.through(airfreight.mappable([airfreight.mappable([value])]), key="inner")
    assert_same(list(inner[0]), [value])


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("value", ONES, ids=repr)
def test_an_attribute_that_is_no_field_is_not_lost_in_silence(box: Box, value: Any) -> None:
    object.__setattr__(value, "more", 5)
    try:
        row = box.push(value)
    except TypeError as error:
        assert "more" in str(error)  # noqa: PT017
    else:
        assert_same(value, box.pull(stored(row)))


@dataclasses.dataclass
class Boxed(Generic[T]):
    a: T


@attr.s
class BoxedAttrs(Generic[T]):
    a: T = attr.ib()


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("cls", [Boxed, BoxedAttrs])
def test_what_was_made_of_a_generic_class_with_brackets_is_refused_with_the_reason(
    box: Box, cls: Any
) -> None:
    assert_same(box.through(cls(1)), cls(1))
    name = cls.__name__
    said = rf"made as {name}\[…\]\(…\).*__orig_class__.*make it as {name}\(…\)"
    for value in (cls[int](1), {"k": [cls[int](1)]}):
        with pytest.raises(TypeError, match=said):
            box.push(value, key="other")


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("value", GIVEN, ids=repr)
def test_what_a_model_was_given_comes_back_or_is_refused(box: Box, value: Any) -> None:
    try:
        row = box.push(value)
    except TypeError as error:
        assert "Airflow's serializer would" in str(error)  # noqa: PT017
    else:
        assert_same(value, box.pull(stored(row)))


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("threshold", [0, 32768])
@pytest.mark.parametrize(
    "value", [Data("\ud800"), Data({"a": ["\udfff"]}), Data("\0"), Data(-0.0), Data(1e22)], ids=repr
)
def test_fields_that_a_database_would_change_are_kept(box: Box, value: Any, threshold: int) -> None:
    box.set(threshold=threshold)
    assert_same(value, box.pull(stored(box.push(value))))
    assert_same([value], box.pull(stored(box.push([value]))))


def test_a_field_that_is_refused_is_named_with_what_it_would_become() -> None:
    same = importlib.import_module("airfreight.values._same")
    unsupported = importlib.import_module("airfreight.values._unsupported").Unsupported

    with pytest.raises(unsupported) as caught:
        same.check(Data([{"k": (1,)}]), Data([{"k": [1]}]))
    said = str(caught.value.as_type_error())
    assert said.startswith("value.a[0]['k']: an object of type tuple")
    assert "bring it back as list" in said
    with pytest.raises(unsupported, match="changed"):
        same.check(Data(b=1), Data(b=2))  # Equality leaves it out.

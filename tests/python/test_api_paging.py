"""`airfreight.admin.paging`: nothing that is there all the while is passed over."""

from __future__ import annotations

import bisect
import random
from collections.abc import Iterable

import pytest

from airfreight.admin import paging
from airfreight.errors import UnavailableError

#: Time, and what tells items of one time apart.
Item = tuple[int, int]


class Listing:
    """A table in order, as a server lists it, that changes before each answer.

    Attributes:
        stays: what is never removed.
    """

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.most = self.source.choice((2, 3, 7, 20, 100))
        self.items = sorted(
            {
                (self.source.randrange(50), number)
                for number in range(self.source.choice((0, 1, 90)))
            }
        )
        share = self.source.random()
        self.stays = {item for item in self.items if self.source.random() < share}
        self.change = self.source.choice((0, 2, 2 * self.most))
        self.answers = 0

    def fetch(self, offset: int, limit: int) -> tuple[list[Item], int]:
        self.answers += 1
        total = len(self.items)
        # What is counted, and what is given, are of two moments.
        if self.answers < 200:
            self.alter()
        if self.most >= 20 and self.source.random() < 0.1:
            # A server that took the order of another request for that of ours. (Of few items it may
            # be the same one.)
            mixed = sorted(self.items, key=lambda item: item[1])
            return mixed[offset : offset + min(limit, self.most)], total
        return self.items[offset : offset + min(limit, self.most)], total

    def alter(self) -> None:
        for _ in range(self.source.randrange(self.change + 1)):
            if self.source.random() < 0.4:
                bisect.insort(self.items, (self.source.randrange(60), self.answers * 1000 + _))
            elif gone := [item for item in self.items[:20] if item not in self.stays]:
                self.items.remove(self.source.choice(gone))


def _in_order(one: Item, other: Item) -> bool:
    return one[0] <= other[0]


def _flat(pages: Iterable[list[Item]]) -> set[Item]:
    return {item for page in pages for item in page}


@pytest.mark.parametrize("part", range(4))
def test_what_stays_is_seen_whatever_comes_and_goes(part: int) -> None:
    given_up = 0
    for seed in range(part * 250, part * 250 + 250):
        listing = Listing(seed)
        try:
            seen = _flat(paging.walk(listing.fetch, lambda item: item, _in_order, 50))
        except UnavailableError:
            given_up += 1
            continue
        assert seen >= listing.stays, seed
    assert given_up < 25


def test_memory_of_what_was_seen_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "_KNOWN", 60)
    items = [(n, n) for n in range(1000)]
    removed: list[Item] = []

    def fetch(offset: int, limit: int) -> tuple[list[Item], int]:
        if offset > 800 and not removed:
            removed.extend(items[:500])
            del items[:500]
        return items[offset : offset + limit], len(items)

    assert _flat(paging.walk(fetch, lambda item: item, _in_order, 50)) >= set(items)
    assert removed


def test_what_comes_in_between_count_and_page_hides_no_last_one() -> None:
    items: list[Item] = [(n, n) for n in range(21)]

    def fetch(offset: int, limit: int) -> tuple[list[Item], int]:
        total = len(items)
        if offset == 15 and total == 21:
            items[:0] = [(-1, n) for n in range(5)]
        return items[offset : offset + min(limit, 10)], total

    assert (20, 20) in _flat(paging.walk(fetch, lambda item: item, _in_order, 50))


@pytest.mark.parametrize("answer", [([], 5), ([(2, 2), (1, 1)], 2), ([(1, 1)], 9)], ids=str)
def test_what_can_not_be_read_is_an_error(answer: tuple[list[Item], int]) -> None:
    with pytest.raises(UnavailableError):
        list(paging.walk(lambda *_: answer, lambda item: item, _in_order, 50))

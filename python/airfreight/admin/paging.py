"""All of a listing that is given by offset, while it changes.

A page by offset begins so many items after the first. Where an item before it goes meanwhile, all
behind it move up, and the next page passes one over that was there all the while. So each page
begins within the one before: its first item must have been seen, or else we go back until that is
so. What follows a seen item in one answer follows it without a gap.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from airfreight.admin.rows import AirflowUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

_Item = TypeVar("_Item")
#: Items of a page that are asked for again with the next one: so many may go from among them before
#: we have to go further back.
BACK = 10
#: Items that are known to have been seen.
_KNOWN = 10_000
#: Answers in a row by which we come no further.
_TRIES = 50


def walk(
    fetch: Callable[[int, int], tuple[list[_Item], int]],
    identity: Callable[[_Item], Hashable],
    in_order: Callable[[_Item, _Item], bool],
    limit: int,
) -> Iterator[list[_Item]]:
    """The items of a listing, by pages: each that is there all the while, once at least.

    Args:
        fetch: (offset, limit) → items, of which a server may give fewer than asked for, and how
            many there are in all. One answer is of one moment.
        identity: what tells an item from all others, and from what stood in its place before. The
            order of two items must stay.
        in_order: whether an item may come before another one. (A server that sorts for several
            callers at once may mistake one for the other.)
        limit: of items in a page.

    Raises:
        AirflowUnavailableError: it changes faster than it can be read, or comes in no order.
    """
    known: dict[Hashable, None] = {}
    recent: deque[Hashable] = deque()
    offset = largest = tries = 0
    while True:
        page, total = fetch(offset, limit)
        largest = max(largest, len(page))
        sorted_ = all(in_order(one, other) for one, other in pairwise(page))
        joins = offset == 0 or (bool(page) and identity(page[0]) in known)
        if not sorted_ or not joins or (not page and total):
            tries += 1
            if tries > _TRIES:
                raise AirflowUnavailableError(
                    "what Airflow's API lists changes faster than it can be read, or comes in no "
                    f"order: {tries} answers about {total:,} items did not join what was read"
                )
            if sorted_ and not joins:
                offset = max(0, offset - max(1, largest) * tries)
            continue
        new = [item for item in page if identity(item) not in known]
        back = max(1, min(BACK, largest // 2))
        if new:
            tries = 0
            for item in new:
                known[identity(item)] = None
                recent.append(identity(item))
            while len(recent) > _KNOWN:
                del known[recent.popleft()]
            yield new
        # It ends with a page that has room for more, and no more in it than was seen. (How many
        # there are is counted a moment before: what came in between, before the page, makes up for
        # one behind it. Before the first one there is nothing.)
        elif offset + len(page) >= total and (offset == 0 or len(page) < largest):
            return
        elif len(page) <= back:
            tries += 1
            if tries > _TRIES:
                raise AirflowUnavailableError(
                    f"Airflow's API tells of {total:,} items and gives {offset + len(page):,}"
                )
        offset += max(0, len(page) - back)

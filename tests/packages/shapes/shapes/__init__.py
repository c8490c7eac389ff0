"""A package of somebody else's, whose type Airfreight does not know."""

from __future__ import annotations


class Polygon:
    """A ring of points."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        self.points = points

    def __eq__(self, other: object) -> bool:
        return type(other) is Polygon and other.points == self.points

    def __hash__(self) -> int:
        return hash(tuple(self.points))

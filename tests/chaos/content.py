"""What is pushed: bytes that follow from the seed and a name, so that nothing has to be kept."""

from __future__ import annotations

import math
import random

LARGEST = 40_000_000


def content(seed: object, name: str, size: int) -> bytes:
    """`size` bytes that no other name has."""
    return random.Random(f"{seed} {name}").randbytes(size)


def draw_size(seed: object, name: str) -> int:
    """Log-uniform from a byte to LARGEST, and now and then nothing at all."""
    dice = random.Random(f"{seed} size of {name}")
    if dice.random() < 0.03:
        return 0
    return int(math.exp(dice.uniform(0, math.log(LARGEST))))

"""How Airfreight keeps a Polygon: as GeoJSON, which any map tool opens."""

from __future__ import annotations

import json
import math

from airfreight.values import NewSink, Options, Payload, human_bytes
from shapes import Polygon

EXTENSION = "geojson"
CONTENT_TYPE = "application/geo+json"


def encode(value: Polygon, options: Options, new_sink: NewSink, /) -> Payload:
    """Encodes a polygon, or says why it would not come back as it is."""
    for position, point in enumerate(value.points):
        if not all(type(it) is float and math.isfinite(it) for it in point):
            raise TypeError(
                f"value.points[{position}]: {point} has a coordinate that is no finite float; "
                "convert it with float(…)"
            )
    text = json.dumps({"type": "Polygon", "coordinates": [value.points]}).encode()
    return Payload(
        body=[text],
        rows=len(value.points),
        summary=f"Polygon of {len(value.points):,} points · {human_bytes(len(text))} geojson",
    )


def decode(data: memoryview) -> Polygon:
    """The inverse of `encode`."""
    (ring,) = json.loads(bytes(data))["coordinates"]
    return Polygon([(x, y) for x, y in ring])

"""What an agent wanted and believed at a step, as the text of the step's `info`.

With full telemetry every step has one, and a dict made and encoded for each would take more time
than all the rest: the texts of many steps come from one template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.worker import JsonText
from mosaic.worker.json_text import encode, encode_number

_END = "}}"


def mind_texts(base: Mapping[str, Any], known: NDArray[np.float64]) -> Iterator[JsonText]:
    """One for each row of `known`: how sure it is, then what each action is worth.

    `base` is what all of them have in common.
    """
    common = encode(dict(base))[1:-1].replace("%", "%%")
    begin = f'{{"mind":{{{common}{"," if common else ""}"confidence":'
    actions = known.shape[1] - 1
    # Six digits; a whole number has no fraction, which JSON takes for the same.
    number = "%.6g" if np.isfinite(known).all() else "%s"
    template = f'{begin}{number},"q_values":[{",".join([number] * actions)}]{_END}'
    columns = known.T.tolist()
    if number == "%s":
        columns = [[encode_number(value) for value in column] for column in columns]
    return (JsonText(template % row) for row in zip(*columns, strict=True))


def with_more(text: JsonText, more: Mapping[str, Any]) -> JsonText:
    return JsonText(f"{text[: -len(_END)]},{encode(dict(more))[1:-1]}{_END}")

"""Every error survives the wire with its class, sentence, hint and details."""

from __future__ import annotations

import pytest

from mosaic.errors import ConfigError, MosaicError, error_codes, from_wire, to_wire


@pytest.mark.parametrize("cls", error_codes().values(), ids=lambda cls: cls.code)
def test_round_trip_keeps_everything(cls: type[MosaicError]) -> None:
    error = cls("It broke.", hint="mend it", field="a.b", expected_offset=3)
    again = from_wire(to_wire(error))
    assert type(again) is cls
    assert again.to_dict() == error.to_dict()


def test_an_unknown_code_becomes_the_base_class() -> None:
    text = to_wire(ConfigError("new")).replace("invalid_config", "from_the_future")
    assert type(from_wire(text)) is MosaicError


def test_the_tree_in_the_docstring_is_complete() -> None:
    import mosaic.errors as module

    ours = [cls for cls in error_codes().values() if cls.__module__ == module.__name__]
    assert ours
    for cls in ours:  # a worker may have errors of its own
        assert cls.__name__ in (module.__doc__ or ""), cls

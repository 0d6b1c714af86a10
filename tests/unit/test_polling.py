"""Waiting for descriptors, also for those that `select` cannot take."""

from __future__ import annotations

import fcntl
import os
import resource

import pytest

from mosaic.files import is_readable


def test_data_and_its_end_can_be_read() -> None:
    reader, writer = os.pipe()
    try:
        assert not is_readable(reader, 0)
        os.write(writer, b"x")
        assert is_readable(reader, 0)
        os.read(reader, 1)
        assert not is_readable(reader, -1)
        os.close(writer)
        assert is_readable(reader)
    finally:
        os.close(reader)


def test_high_descriptors_are_no_problem() -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 2000:
        pytest.skip("this shell allows too few descriptors")
    reader, writer = os.pipe()
    high = fcntl.fcntl(reader, fcntl.F_DUPFD, 1500)
    try:
        os.write(writer, b"x")
        assert is_readable(high, 0)
    finally:
        for fd in (reader, writer, high):
            os.close(fd)

"""Secrets never come through, however the stream is cut; everything else does."""

from __future__ import annotations

import base64
import itertools
import json
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.redactor import Redactor, mask_in_place, redact, secret_patterns

KEY = "s3cr3t-k3y"


def through(redactor: Redactor, chunks: list[bytes]) -> bytes:
    return b"".join([redactor.feed(chunk) for chunk in chunks] + [redactor.flush()])


def test_value_split_at_every_position_is_masked() -> None:
    text = f"login {KEY} ok".encode()
    for cut in range(len(text) + 1):
        redactor = Redactor(secret_patterns([KEY]))
        assert through(redactor, [text[:cut], text[cut:]]) == b"login *** ok"


def test_text_without_a_secret_passes_unchanged_byte_by_byte() -> None:
    text = b"s3cr3t-k3s is not it, s3cr3t- neither\xff\x00"
    redactor = Redactor(secret_patterns([KEY]))
    assert through(redactor, [bytes([byte]) for byte in text]) == text


def test_longer_secret_wins_over_its_own_beginning() -> None:
    redactor = Redactor(secret_patterns(["abcd", "abcdef"]))
    assert through(redactor, [b"<abcd", b"ef>"]) == b"<***>"


def test_overlapping_secrets_leave_no_piece_of_either() -> None:
    redactor = Redactor(secret_patterns(["abcd", "cdxx"]))
    assert through(redactor, [b"<abcd", b"xx>"]) == b"<***>"
    assert through(redactor, [b"<abcd", b"zz>"]) == b"<***zz>"


def test_endless_repetition_is_masked_in_bounded_memory() -> None:
    redactor = Redactor(secret_patterns(["aaaa"]))
    out = b"".join(redactor.feed(b"aaa") for _ in range(1000))
    assert b"a" not in out
    assert len(redactor._held) < 4


def test_a_long_secret_takes_memory_in_proportion_to_its_length() -> None:
    key = base64.b64encode(bytes(n * 7 % 256 for n in range(3000))).decode()
    patterns = secret_patterns([key])
    tracemalloc.start()
    try:
        redactor = Redactor(patterns)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    text = f"key {key} ok".encode()
    assert through(redactor, [text[:2000], text[2000:]]) == b"key *** ok"


def test_value_with_newlines_is_masked_raw_and_inside_json() -> None:
    patterns = secret_patterns(["-----BEGIN\nKEY-----"])
    assert redact("a -----BEGIN\nKEY----- b", patterns) == "a *** b"
    assert redact(r'{"key": "-----BEGIN\nKEY-----"}', patterns) == '{"key": "***"}'


def test_short_values_are_not_masked_because_they_would_shred_ordinary_text() -> None:
    assert secret_patterns(["", "a", "yes"]) == ()


def test_many_secrets_are_found_among_short_words_and_with_spaces_in_them() -> None:
    values = [f"{number:03}-secret-value-{number:03}" for number in range(80)]
    values += [" led by a space", "two words", "tail "]
    patterns = secret_patterns(values)
    assert len(patterns) > 500
    for value in values:
        text = f"a b c<{value}>d e f\n".encode()
        for cut in (0, 6, 9, len(text)):
            out = through(Redactor(patterns), [text[:cut], text[cut:]])
            assert out == b"a b c<***>d e f\n"
    ordinary = b"short words only, and two of them\n"
    assert through(Redactor(patterns), [ordinary]) == ordinary


def test_blotting_out_keeps_the_number_of_bytes_and_valid_json() -> None:
    patterns = secret_patterns(['a"b\\cde', "abcdef"])
    line = b'{"seq":1,"text":"a\\"b\\\\cde and abcdef"}\n'
    blotted = mask_in_place(line, patterns)
    assert len(blotted) == len(line)
    assert json.loads(blotted) == {"seq": 1, "text": "*" * 9 + " and " + "*" * 6}
    assert mask_in_place(line, ()) == line


def test_encoded_values_are_masked_however_they_are_cut() -> None:
    encoded = b"Authorization: Basic " + base64.b64encode(f"me:{KEY}".encode()) + b" end"
    for cut in range(len(encoded) + 1):
        out = through(Redactor(secret_patterns([KEY])), [encoded[:cut], encoded[cut:]])
        assert b"***" in out and out.endswith(b" end")
        assert base64.b64encode(KEY.encode())[3:-4] not in out


@given(
    secrets=st.lists(st.text(alphabet="ab", min_size=4, max_size=7), min_size=1, max_size=3),
    text=st.text(alphabet="abc", max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_no_secret_survives_any_cutting(secrets: list[str], text: str, cuts: list[int]) -> None:
    data = text.encode()
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    chunks = [data[a:b] for a, b in itertools.pairwise(edges)]
    patterns = secret_patterns(secrets)
    out = through(Redactor(patterns), chunks)
    assert not any(pattern in out for pattern in patterns)
    assert out == through(Redactor(patterns), [data])
    assert out.count(b"c") == data.count(b"c")

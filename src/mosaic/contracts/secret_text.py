"""How a secret value may stand in a text, and which values must be masked there at all.

Imported by every run host, so it makes do with modules that an interpreter has loaded anyway.
"""

from __future__ import annotations

import binascii
import json
import os
import re

# Masking a shorter value would shred ordinary text.
MIN_SECRET_CHARACTERS = 4
# The same for what was encoded, which has fewer kinds of characters.
_MIN_ENCODED = 8

# Begins with what is rare: a search for schemes would go through a long word again and again.
_URL_USER = re.compile(r"(?<=[A-Za-z0-9+.-])://([^\s/?#:@]*)(?::([^\s/?#]+))?@[^\s/?#@]")
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
_SHELL_SPECIAL = re.compile(r"([^A-Za-z0-9_@%+=:,./\n-])")
_BASE64_LINE = 76
_URLSAFE = str.maketrans("+/", "-_")

# What the settings of experiments consist of: numbers, words, and names such as `seed12`.
_LONGEST_ORDINARY = 7
_BETWEEN_WORDS = re.compile(r"[\s/.,:;=_~+-]+")
_ORDINARY_WORD = re.compile(
    r"(?:[A-Z]?[a-z]{1,19}(?:[A-Z][a-z]{2,19}){0,3}|[A-Z]{1,19})?\d{0,4}|\d{1,12}"
)


def url_passwords(text: str) -> list[str]:
    """Of every `scheme://user:password@host`; a user that is not a word counts as a token."""
    return [
        password or user
        for user, password in _URL_USER.findall(text)
        if password or not is_ordinary_text(user)
    ]


def is_ordinary_text(value: str) -> bool:
    """Whether masking it would garble logs rather than protect anybody: `true`, `/usr/bin`, `v2`.

    Everything is ordinary that is shorter than eight characters, or made of words, numbers and
    the usual signs between them. What generators of keys and passwords make is neither.
    """
    if len(value) <= _LONGEST_ORDINARY:
        return True
    return all(_ORDINARY_WORD.fullmatch(word) for word in _BETWEEN_WORDS.split(value))


def secret_spellings(value: str) -> set[str]:
    """A value as programs print it: as it is, quoted, escaped, encoded for a URL or a header."""
    spellings: set[str] = set()
    for part in _telling_parts(value):
        spellings |= _quoted(part)
        try:
            data = os.fsencode(part)
        except UnicodeEncodeError:
            continue  # no process can be given such a value, so none can encode it
        spellings |= _percent_encoded(data)
        encoded = {data.hex(), data.hex().upper(), *_base64(data)}
        spellings |= {text for text in encoded if len(text) >= _MIN_ENCODED}
    return {text for text in spellings if len(text) >= MIN_SECRET_CHARACTERS}


def _telling_parts(value: str) -> set[str]:
    """The value; the password in a URL and the lines of a key, which are printed by themselves."""
    lines = value.splitlines() if "\n" in value else []
    return {value, *url_passwords(value), *(line for line in lines if not is_ordinary_text(line))}


def _quoted(text: str) -> set[str]:
    shown = repr(text)[1:-1]
    shown_bytes = repr(text.encode(errors="surrogatepass"))[2:-1]
    spellings = {
        *(text, shown, shown_bytes),
        *(shown.replace("'", "\\'"), shown_bytes.replace("'", "\\'")),
        *(_in_json(text), json.dumps(text, ensure_ascii=False)[1:-1]),
        *(text.replace("'", "'\"'\"'"), _SHELL_SPECIAL.sub(r"\\\1", text)),
    }
    # A message that quotes it becomes part of an event, which is JSON.
    return spellings | {_in_json(spelling) for spelling in spellings}


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _percent_encoded(data: bytes) -> set[str]:
    spellings = set()
    for kept in ("", "/", "!'()*"):  # what Python's two functions and browsers leave alone
        for escaped in ("%{:02X}", "%{:02x}"):
            text = "".join(
                chr(byte) if chr(byte) in _UNRESERVED + kept else escaped.format(byte)
                for byte in data
            )
            spellings |= {text, text.replace("%20", "+")}
    return spellings


def _base64(data: bytes) -> set[str]:
    """Also within a longer text, such as `user:password`, wherever it begins there."""
    encoded = [
        binascii.b2a_base64(bytes(offset) + data, newline=False).decode().rstrip("=")
        for offset in range(3)
    ]
    # Without the characters that depend on what stands in front of it or behind it.
    spellings = {
        text[skipped : (offset + len(data)) * 8 // 6]
        for offset, (text, skipped) in enumerate(zip(encoded, (0, 2, 3), strict=True))
    }
    alone = encoded[0]
    spellings |= {alone, *(alone[n : n + _BASE64_LINE] for n in range(0, len(alone), _BASE64_LINE))}
    return spellings | {text.translate(_URLSAFE) for text in spellings}

"""Records every change that a writer makes to a folder, with its data, through strace.

strace, because it sees what the kernel was asked for by whomever: our own code, Python's buffers
and SQLite's C alike, unmodified and in the order it happened. Wrapping functions in Python would
miss SQLite, a VFS of our own would test our VFS, and a preloaded library would need a compiler and
miss calls made inside libc. The price is a tool that has to be installed; without it nothing is
proven, and the tests say so by skipping.

What was recorded is checked: applied without any loss, it must give the folder that the writer
left behind, byte by byte.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.crash_states.followed_tree import FollowedTree
from tests.crash_states.operations import Recording
from tests.crash_states.power_cut import undisturbed

_CALLS = (
    *("open", "openat", "creat", "close", "dup", "dup2", "dup3", "fcntl", "lseek", "mmap"),
    *("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendfile", "copy_file_range"),
    *("truncate", "ftruncate", "fallocate", "fsync", "fdatasync", "sync", "syncfs"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "io_uring_setup", "fork", "vfork"),
)
_STRING_LIMIT = 1 << 24
_TIMEOUT_S = 100
_PROJECT = Path(__file__).resolve().parents[2]
_STDOUT = 1
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)")
_UNFINISHED = re.compile(r"(\d+) +(\w+)\((.*?),? *<unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>,? ?(.*)$")
_FORKED = re.compile(r"\d+ +(?:v?fork\(|<\.\.\. v?fork resumed>)\) += (\d+)")
_QUOTED = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


class Call(NamedTuple):
    name: str
    arguments: list[str]
    result: int
    started_at: int  # how many operations were known when it began


def record(writer: str, root: Path) -> Recording:
    """Run `tests.crash_states.traced WRITER ROOT`; what `root` holds already counts as safe."""
    why_not = unable_to_trace()
    if why_not:
        pytest.skip(why_not)
    tree = FollowedTree(root)  # before the writer comes
    trace = root.with_name("trace")
    strace = ["strace", "-f", "-qq", "-xx", "-s", str(_STRING_LIMIT), "--seccomp-bpf"]
    options = ["-e", f"trace={','.join(_CALLS)}", "-e", "signal=none", "-o", str(trace)]
    program = [sys.executable, "-B", "-m", "tests.crash_states.traced", writer, str(root)]
    subprocess.run(
        [*strace, *options, *program],
        cwd=_PROJECT,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=_TIMEOUT_S,
    )
    with trace.open() as lines:
        recording = followed(lines, tree)
    trace.unlink()
    _check_followed(recording, root)
    return recording


def followed(lines: Iterable[str], tree: FollowedTree) -> Recording:
    """What the lines that strace wrote say about a folder."""
    lines = list(lines)
    others = _other_processes(lines)
    own = (line for line in lines if line.split(" ", 1)[0] not in others)
    for call in _calls(own, tree):
        _follow(tree, call)
    return tree.recording


def _other_processes(lines: Iterable[str]) -> set[str]:
    """Programs that the writer started, such as `ldconfig` when a CUDA build of torch is imported.

    They have descriptors of their own, and they begin before the call that starts them ends.
    """
    return {match[1] for match in map(_FORKED.match, lines) if match}


@functools.cache
def unable_to_trace() -> str:
    if shutil.which("strace") is None:
        return "strace is not installed: nobody can see what the writers ask of the disk"
    if subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode:
        return "strace may not trace here: nobody can see what the writers ask of the disk"
    return ""


def _check_followed(recording: Recording, root: Path) -> None:
    expected = undisturbed(recording)
    mapped = expected.unknown_paths
    found = {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in root.rglob("*")
    }
    followed = {path: expected.content(path) for path in expected.paths}
    assert found.keys() == followed.keys(), found.keys() ^ followed.keys()
    wrong = [path for path in found.keys() - mapped if found[path] != followed[path]]
    assert not wrong, f"not followed correctly: {wrong}"


def _calls(lines: Iterable[str], tree: FollowedTree) -> Iterator[Call]:
    """Those that succeeded, in the order they ended; threads interrupt each other's lines."""
    begun: dict[str, tuple[str, int]] = {}
    for line in lines:
        text, started_at = line.rstrip("\n"), len(tree.operations)
        if interrupted := _UNFINISHED.match(text):
            begun[interrupted[1]] = (text[: interrupted.end(3)], started_at)
            continue
        if resumed := _RESUMED.match(text):
            head, started_at = begun.pop(resumed[1])
            is_list = bool(resumed[2]) and not resumed[2].startswith(")")
            text = f"{head}{', ' if is_list and not head.endswith('(') else ''}{resumed[2]}"
        match = _LINE.match(text)
        if match is None or match[4] == "?":
            continue
        result = int(match[4], 0)
        if result >= 0:
            yield Call(match[2], match[3].split(", "), result, started_at)


def _follow(tree: FollowedTree, call: Call) -> None:
    name, arguments, result = call.name, call.arguments, call.result
    match name:
        case "open" | "creat":
            flags = "O_CREAT|O_WRONLY|O_TRUNC" if name == "creat" else arguments[1]
            tree.open(None, _text(arguments[0]), set(flags.split("|")), result)
        case "openat":
            folder, path, flags = arguments[:3]
            tree.open(_folder(folder), _text(path), set(flags.split("|")), result)
        case "close":
            tree.close(int(arguments[0]))
        case "dup" | "dup2" | "dup3":
            tree.duplicate(int(arguments[0]), result)
        case "fcntl" if arguments[1].startswith("F_DUPFD"):
            tree.duplicate(int(arguments[0]), result)
        case "lseek":
            tree.seek(int(arguments[0]), result)
        case "write" if int(arguments[0]) == _STDOUT:
            for line in _bytes(arguments[1]).decode().splitlines():
                tree.say(line)
        case "write" | "writev":
            tree.write(int(arguments[0]), _data(arguments[1:])[:result])
        case "pwrite64" | "pwritev" | "pwritev2":
            offset = int(arguments[3] if name == "pwrite64" else arguments[-1])
            tree.write(int(arguments[0]), _data(arguments[1:])[:result], offset)
        case "ftruncate":
            tree.truncate(int(arguments[0]), int(arguments[1]))
        case "fallocate":
            assert arguments[1] == "0", f"a hole is punched: {arguments}"
            tree.allocate(int(arguments[0]), int(arguments[2]) + int(arguments[3]))
        case "fsync" | "fdatasync":
            tree.sync(int(arguments[0]), call.started_at)
        case "mmap" if "MAP_SHARED" in arguments[3] and "PROT_WRITE" in arguments[2]:
            tree.map_for_writing(int(arguments[4]))
        case "mkdir":
            tree.make_folder(None, _text(arguments[0]))
        case "mkdirat":
            tree.make_folder(_folder(arguments[0]), _text(arguments[1]))
        case "rename" | "link":
            change = tree.rename if name == "rename" else tree.link
            change(None, _text(arguments[0]), None, _text(arguments[1]))
        case "renameat" | "renameat2" | "linkat":
            change = tree.link if name == "linkat" else tree.rename
            old_folder, old, new_folder, new = arguments[:4]
            change(_folder(old_folder), _text(old), _folder(new_folder), _text(new))
        case "unlink" | "rmdir":
            tree.remove(None, _text(arguments[0]))
        case "unlinkat":
            tree.remove(_folder(arguments[0]), _text(arguments[1]))
        case "fcntl" | "mmap" | "fork" | "vfork":
            pass
        case _:
            raise NotImplementedError(f"a writer that calls {name}{arguments}")


def _folder(argument: str) -> int | None:
    return None if argument == "AT_FDCWD" else int(argument)


def _text(argument: str) -> str:
    return _bytes(argument).decode("utf-8", "surrogateescape")


def _bytes(argument: str) -> bytes:
    return _data([argument])


def _data(arguments: list[str]) -> bytes:
    """All strings among the arguments together: one buffer, or several of a vector."""
    found = _QUOTED.findall(", ".join(arguments))
    assert not any(cut for _, cut in found), "strace has cut a string off"
    return b"".join(bytes.fromhex(text.replace("\\x", "")) for text, _ in found)

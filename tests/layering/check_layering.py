#!/usr/bin/env python3
"""Holds every #include of the repository against the list of what its folder may include.

  check_layering.py REPOSITORY

Prints one line per violation, "file:line: reason", and exits with 1 if there is one. The list below is the whole rule;
docs/architecture.md says why. Also refuses paths of somebody's machine in any text file.
"""
import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

# Folders with sources. A folder's rule holds for the folders below it, unless they have one of their own.
SOURCE_ROOTS = ("include", "src", "cli", "tests", "bench", "examples")
SOURCE_SUFFIXES = {".h", ".cpp", ".c", ".cu", ".hip"}


class Rule(NamedTuple):
    # What it may include of this repository: a folder ("src/base"), the files right in a folder but not those of its
    # subfolders ("src/device/"), or one file. "*" is anything.
    project: tuple
    # Third-party headers, by how their names begin. The standard library and POSIX go without saying.
    foreign: tuple = ()


PUBLIC = "include/tandem"
# Implemented by the facade, so the layers below it do not know it.
FACADE_HEADER = "include/tandem/module.h"
BASE = (PUBLIC, "src/base")
DEVICE = BASE + ("src/device/",)  # the interfaces: no device's own code
RUNTIME = DEVICE + ("src/format", "src/runtime")
FACADE = RUNTIME + ("src/ops", "src/device", "src/facade")

RULES = {
    "include": Rule((PUBLIC,)),
    "src/base": Rule(BASE, ("fmt/", "openssl/")),
    "src/base/poison.h": Rule(BASE, ("sanitizer/",)),
    "src/format": Rule(BASE + ("src/format",), ("fmt/", "flatbuffers/", "tandem_schema/")),
    "src/device": Rule(DEVICE, ("fmt/",)),
    "src/device/host": Rule(DEVICE + ("src/device/host",), ("fmt/",)),
    "src/device/gpu": Rule(DEVICE + ("src/device/gpu",), ("fmt/",)),
    "src/device/cuda": Rule(DEVICE + ("src/device/gpu", "src/device/cuda"), ("fmt/", "cuda")),
    "src/device/hip": Rule(DEVICE + ("src/device/gpu", "src/device/hip"), ("fmt/", "hip/")),
    "src/runtime": Rule(RUNTIME, ("fmt/",)),
    "src/ops/portable": Rule(BASE + ("src/runtime/op.h", "src/ops/portable"), ("fmt/", "cblas.h")),
    "src/backends/aoti": Rule(DEVICE + ("src/device/gpu", "src/device/cuda", "src/backends/aoti"),
                              ("fmt/", "cblas.h", "cublasLt.h", "cudnn.h")),
    "src/backends/tensorrt": Rule(DEVICE + ("src/device/gpu", "src/device/cuda", "src/backends/tensorrt"),
                                  ("fmt/", "nlohmann/")),
    # The plug-in: a library of its own, which sees TensorRT and no more of Tandem than the border.
    "src/backends/tensorrt/nvinfer": Rule(("src/backends/tensorrt/plugin_api.h", "src/backends/tensorrt/nvinfer"),
                                          ("NvInfer", "cuda")),
    "src/backends/custom": Rule(DEVICE + ("src/backends/custom",), ("fmt/",)),
    "src/facade": Rule(FACADE, ("fmt/", "nlohmann/")),
    # The one file that names what this build contains.
    "src/facade/builtin_backends.cpp": Rule(FACADE + ("src/backends",), ("fmt/",)),
    "src/capi": Rule((PUBLIC, "src/capi")),
    "cli": Rule(FACADE + ("cli",), ("fmt/", "spdlog/", "CLI/", "nlohmann/")),
    # A GPU's own tools for `bench`, and the launches of CudaBackend's delegates: the bench makes them without Tandem.
    "cli/bench/cuda": Rule(FACADE + ("cli", "src/backends/aoti/cuda_backend.h", "src/backends/aoti/cuda_functions.h"),
                           ("fmt/", "cuda", "cupti.h")),
    # What a backend reads is written beside its reader; nothing else of a backend is for the command.
    "cli/pack": Rule(FACADE + ("cli", "src/backends/aoti/write_payload.h", "src/backends/tensorrt/write_blob.h"),
                     ("fmt/", "nlohmann/")),
    "tests": Rule(("*",), ("",)),
    "bench": Rule(("*",), ("",)),
    "examples": Rule((PUBLIC, "examples"), ("cuda_runtime.h",)),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# The C++ standard library has neither dot nor slash in its names; C and POSIX headers are listed.
SYSTEM = re.compile(
    r"^([a-z_0-9]+"
    r"|(assert|ctype|dlfcn|elf|errno|fcntl|fenv|inttypes|limits|link|math|pthread|signal|stddef|stdint|stdio|stdlib"
    r"|string|time|unistd)\.h"
    r"|(sys|linux)/[a-z_]+\.h)$")
# Of C's, those that every compiler has: for the headers that are C as well.
CPP_STANDARD = re.compile(r"^([a-z_0-9]+|std(def|int)\.h)$")
# Split, so that this file passes its own check.
MACHINE_PATH = re.compile(r"(?<![\w.])/(" + "wor" + r"k|" + "roo" + r"t|" + "hom" + r"e/\w+)/")


class Violation(NamedTuple):
    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


def within(path: str, place: str) -> bool:
    """Whether `path` is what `place` of a Rule means."""
    if place.endswith("/"):
        return path.rpartition("/")[0] + "/" == place
    return place == "*" or path == place or path.startswith(place + "/")


def rule_for(path: str) -> Optional[Rule]:
    """The rule with the longest matching place."""
    places = [place for place in RULES if within(path, place)]
    return RULES[max(places, key=len)] if places else None


def resolve(root: Path, file: Path, name: str) -> Optional[str]:
    """The repository file that `name` means in `file`, or None if it is not one of ours."""
    if name.startswith("tandem/"):
        return f"include/{name}"
    for base in (file.parent, root / "src", root, root / "tests", root / "cli"):
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    first = name.split("/", 1)[0]
    # A generated header has no file in the sources; its folder is enough.
    return f"src/{name}" if (root / "src" / first).is_dir() else None


def judge(path: str, target: Optional[str], name: str) -> Optional[str]:
    """Why `path` may not include `target` (ours) or `name` (foreign); None if it may."""
    rule = rule_for(path)
    if rule is None:
        return "no rule for this folder; add one to tests/layering/check_layering.py"
    if target is None:
        standard = CPP_STANDARD if within(path, PUBLIC) else SYSTEM
        if standard.match(name) or any(name.startswith(prefix) for prefix in rule.foreign):
            return None
        return f"includes <{name}>, which this folder does not know"
    if not any(within(target, place) for place in rule.project):
        return f"includes {target}, which is not below this folder"
    if target == FACADE_HEADER and path.startswith("src/") and not within(path, "src/facade"):
        return f"includes {target}, which the facade implements"
    return None


def sources(root: Path) -> Iterator[Path]:
    for folder in SOURCE_ROOTS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path


def check_includes(root: Path) -> Iterator[Violation]:
    for file in sources(root):
        path = file.relative_to(root).as_posix()
        for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if not (match := INCLUDE.match(text)):
                continue
            reason = judge(path, resolve(root, file, match[2]), match[2])
            if reason:
                yield Violation(path, number, reason)


def text_files(root: Path) -> Iterator[Path]:
    for path in sorted(root.iterdir()):
        if path.name in {".git", "build", ".cache"}:
            continue
        yield from (p for p in ([path] if path.is_file() else sorted(path.rglob("*"))) if p.is_file())


def check_machine_paths(root: Path) -> Iterator[Violation]:
    for file in text_files(root):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a program, an array, a picture
        for number, line in enumerate(text.splitlines(), start=1):
            if match := MACHINE_PATH.search(line):
                yield Violation(file.relative_to(root).as_posix(), number, f"path of one machine: {match[0]}")


def check(root: Path) -> list:
    root = root.resolve()
    return [*check_includes(root), *check_machine_paths(root)]


def main(arguments: list) -> int:
    if len(arguments) != 1 or not (Path(arguments[0]) / "include/tandem").is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    violations = check(Path(arguments[0]))
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

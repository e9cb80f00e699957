#!/usr/bin/env python3
"""Everything that scripts, CMake files and sources use is in a package of dependencies.env.

A machine that has been worked on has more than a bare one: what is missing from the list is found
there only. So each program, CMake package, header and Python module that is named must be known
here, with the package it is in, and that package must be installed by packaging/test.
"""
from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Of every Debian, whatever else was left out (essential, or what apt and dpkg need themselves).
EVERYWHERE = "apt bash coreutils dash diffutils dpkg findutils grep mawk sed tar util-linux".split()
# Named where a user who does not have it is told so, or only where it is there already.
OPTIONAL = {"appstreamcli", "desktop-file-validate", "dpkg-shlibdeps", "fsfreeze", "mkfs.ext4", "mmdebstrap", "mount", "umount", "nvcc", "sudo", "unshare", "useradd"}
PROGRAMS = {  # package: programs
    "apt": "apt-config apt-get", "bash": "bash", "dash": "sh", "diffutils": "cmp diff", "dpkg": "dpkg dpkg-query", "findutils": "find xargs",
    "coreutils": "basename cat chmod chroot cp cut date dirname du echo env head id install ln ls mkdir mkfifo mknod mktemp "
                 "mv nproc od paste printf pwd readlink realpath rm rmdir seq sha256sum sleep sort stat tail "
                 "tee touch tr true uniq wc",
    "grep": "grep", "tar": "tar", "mawk": "awk", "sed": "sed", "util-linux": "flock su",
    "cmake": "cmake cpack ctest", "g++": "g++", "ninja-build": "ninja", "ccache": "ccache", "mold": "mold",
    "git": "git", "python3": "python3", "unzip": "unzip", "pkg-config": "pkg-config",
    "protobuf-compiler": "protoc", "sqlite3": "sqlite3", "qemu-user": "qemu-x86_64", "fish": "fish", "zsh": "zsh", "groff-base": "groff",
    "binutils": "ar readelf strip", "libc-bin": "ldd", "iproute2": "ip tc",
}
# What packages of the list depend on.
BROUGHT = {"binutils": "g++", "libc-bin": "g++"}
CMAKE = {  # package: names in find_package and pkg_check_modules
    "cmake": "Threads GoogleTest", "python3": "Python3", "libfmt-dev": "fmt",
    "nlohmann-json3-dev": "nlohmann_json", "libcli11-dev": "CLI11", "libexpected-dev": "tl-expected",
    "libtomlplusplus-dev": "tomlplusplus", "libzstd-dev": "zstd", "libsqlite3-dev": "SQLite3",
    "zlib1g-dev": "ZLIB", "libsimdjson-dev": "simdjson", "pkg-config": "PkgConfig",
    "libpcre2-dev": "libpcre2-8", "nettle-dev": "nettle", "libgtest-dev": "GTest", "libbenchmark-dev": "benchmark",
    "qt6-base-dev": "Qt6",
}
HEADERS = {  # package: first parts of #include <...>
    "libfmt-dev": "fmt", "nlohmann-json3-dev": "nlohmann",
    "libcli11-dev": "CLI", "libexpected-dev": "tl", "libtomlplusplus-dev": "toml++",
    "libzstd-dev": "zstd.h", "libsqlite3-dev": "sqlite3.h sqlite3ext.h", "zlib1g-dev": "zlib.h",
    "libsimdjson-dev": "simdjson.h", "libpcre2-dev": "pcre2.h", "nettle-dev": "nettle", "libgloo-dev": "gloo",
    "libreaderwriterqueue-dev": "readerwriterqueue", "libprotozero-dev": "protozero",
    "libgtest-dev": "gtest", "libgmock-dev": "gmock", "libbenchmark-dev": "benchmark",
}
# Headers of the C library, of LibTorch and of CUDA; Qt's begin with a Q and a capital.
HEADERS_ELSEWHERE = re.compile(
    r"^(sys|net|netinet|arpa|linux|asm|bits|ATen|c10|torch|cxxabi\.h|emmintrin\.h|strings\.h|fcntl\.h|unistd\.h|dlfcn\.h|poll\.h|dirent\.h|regex\.h|ucontext\.h|pthread\.h"
    r"|sched\.h|signal\.h|spawn\.h|termios\.h|time\.h|errno\.h|fenv\.h|ifaddrs\.h|malloc\.h|netdb\.h|glob\.h"
    r"|grp\.h|pwd\.h|pty\.h|std\w+\.h|string\.h|math\.h|immintrin\.h|cpuid\.h|link\.h|elf\.h|execinfo\.h"
    r"|cuda.*|driver_types\.h|cupti.*|nccl\.h|nvtx.*|cooperative_groups.*|omp\.h|[a-z_]+|Q[A-Z]\w*|Qt\w*)$")
PYTHON = {"python3-zstandard": "zstandard"}  # package: modules
# Modules of PyPI, for tests and benches that say so where they are absent.
PYTHON_OPTIONAL = {"torch", "accelerate", "lightning", "numpy", "pandas", "hta", "perfetto", "transformers", "tiktoken",
                   "google", "matplotlib", "cupti", "psutil",
                   "gpt_reference"}

KEYWORDS = set("if then else elif while until do time ! { exec".split())
WITHOUT_COMMAND = set("for case select fi done esac } in".split())
BUILTINS = set(". : [ alias break cd command compgen continue declare echo eval exec exit export "
               "false getopts hash kill let local mapfile popd printf pushd pwd read readonly "
               "return set shift shopt source test times trap true type typeset ulimit umask unset "
               "wait".split())


def packages() -> set[str]:
    listed = subprocess.run(
        ["bash", "-c", f'source "{ROOT}/packaging/dependencies.env"; '
                       "echo $DEBIAN_PACKAGES $DEBIAN_TEST_PACKAGES"],
        capture_output=True, text=True, check=True).stdout.split()
    return set(listed)


def by_name(table):
    return {name: package for package, names in table.items() for name in names.split()}


def files(*patterns) -> list[pathlib.Path]:
    found = []
    for top in ("app", "engine", "packaging", "profiler", "storage", "tests"):
        for pattern in patterns:
            found += sorted((ROOT / top).rglob(pattern))
    return [f for f in found if f.is_file() and "__pycache__" not in f.parts]


def first_line(path) -> str:
    with open(path, errors="replace") as file:
        return file.readline()


def shell_scripts() -> list[pathlib.Path]:
    named = [f for f in files("*") if f.suffix in ("", ".sh")]
    return [f for f in named if re.match(r"#!.*\b(ba)?sh\b|# shellcheck shell", first_line(f))]


def python_scripts() -> list[pathlib.Path]:
    named = [f for f in files("*") if f.suffix in ("", ".py")]
    return [f for f in named if f.suffix == ".py" or re.match(r"#!.*\bpython3", first_line(f))]


def commands(text: str) -> set[str]:
    """Words where a shell looks for a program, as far as text tells: not those in variables."""
    text = re.sub(r"<<-?'?(\w+)'?\n.*?\n\1\n", "\n", text, flags=re.S).replace("\\\n", " ")
    pieces = []

    def quoted(match):
        # A command substitution in a quotation is one all the same.
        pieces.extend(re.findall(r"\$\(([^()]*)", match[0]) if match[0][0] == '"' else [])
        return " '' " if match[0][0] in "\"'" else ""

    text = re.sub(r""""(\\.|[^"\\])*"|'[^']*'|(?<![^\s;])#.*""", quoted, text)
    text = re.sub(r"\[\[.*?\]\]|\(\(.*?\)\)", " true ", text)
    text = re.sub(r"\+?=\([^)]*\)", "= ", text)
    text = re.sub(r"^\s*[^\s()$=]+( \| [^\s()]+)*\)", "\n", text, flags=re.M)  # of a case
    found = set()
    for piece in pieces + re.split(r"&&|\|\||[;|()\n`]|(?<![>\d])&(?!>)", text):
        words = piece.split()
        while words and (words[0] in KEYWORDS or re.match(r"\w+\+?=", words[0])):
            words.pop(0)
        if words[:2] == ["command", "-v"]:
            words = words[2:]
        if words and words[0] not in WITHOUT_COMMAND and re.fullmatch(r"[a-z][\w.+-]*", words[0]):
            found.add(words[0])
    return found


class Dependencies(unittest.TestCase):
    def setUp(self):
        self.listed = packages()
        self.maxDiff = None

    def there(self, package):
        return package in self.listed | set(EVERYWHERE) or BROUGHT.get(package) in self.listed

    def hold(self, named, table, what):
        """named: name -> where. Each is in the table, and its package in the list."""
        unknown = {n: w for n, w in named.items() if n not in table}
        self.assertEqual(unknown, {}, f"{what}: say in this test which package has it")
        missing = {n: table[n] for n in named if not self.there(table[n])}
        self.assertEqual(missing, {}, f"{what}: not in packaging/dependencies.env")

    def test_programs_of_scripts(self):
        scripts = shell_scripts()
        self.assertIn(ROOT / "packaging/setup.sh", scripts)
        self.assertIn(ROOT / "tests/fuzz/run_fuzzers", scripts)
        functions = {m for f in scripts for m in re.findall(r"^(\w+)\(\)", f.read_text(), re.M)}
        named = {}
        for script in scripts:
            for word in commands(script.read_text()):
                named.setdefault(word, script.relative_to(ROOT).as_posix())
        for word in functions | BUILTINS | OPTIONAL:
            named.pop(word, None)
        self.assertIn("unzip", named)
        self.assertIn("cmake", named)
        self.hold(named, by_name(PROGRAMS), "a program of a script")

    def test_programs_and_modules_of_python(self):
        programs, modules = {}, {}
        scripts = python_scripts()
        ours = {f.stem for f in scripts} | {"gpu_check"}
        for script in scripts:
            where = script.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(script.read_text())):
                if isinstance(node, ast.Import):
                    for name in node.names:
                        modules.setdefault(name.name.split(".")[0], where)
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    modules.setdefault(node.module.split(".")[0], where)
                elif isinstance(node, ast.Call):
                    for word in started(node):
                        programs.setdefault(word, where)
        for name in set(sys.stdlib_module_names) | ours | PYTHON_OPTIONAL:
            modules.pop(name, None)
        for name in OPTIONAL:
            programs.pop(name, None)
        self.assertIn("zstandard", modules)
        self.hold(modules, by_name(PYTHON), "a Python module")
        self.assertIn("sqlite3", programs)
        self.hold(programs, by_name(PROGRAMS), "a program of a Python script")

    def test_programs_of_sources(self):
        named = {}
        for source in files("*.cpp", "*.h"):
            for word in re.findall(r'(?:system|popen)\(\(?"([a-z][\w+-]*) ', source.read_text()):
                named.setdefault(word, source.relative_to(ROOT).as_posix())
        self.assertIn("protoc", named)
        self.hold(named, by_name(PROGRAMS), "a program of a source")

    def test_what_cmake_looks_for(self):
        packages_of, programs = {}, {}
        for file in files("CMakeLists.txt", "*.cmake") + [ROOT / "CMakeLists.txt"]:
            text, where = file.read_text(), file.relative_to(ROOT).as_posix()
            for name in re.findall(r"^\s*find_package\((\w[\w-]*)", text, re.M):
                packages_of.setdefault(name, where)
            for name in re.findall(r"pkg_check_modules\(\w+ (?:[A-Z_]+ )*(\S+)\)", text):
                packages_of.setdefault(name, where)
            for name in re.findall(r"find_program\(\w+ (\w+)", text):
                programs.setdefault(name, where)
        for name in OPTIONAL:
            programs.pop(name, None)
        self.assertIn("fmt", packages_of)
        self.hold(packages_of, by_name(CMAKE), "a package of CMake")
        self.assertIn("mold", programs)
        self.hold(programs, by_name(PROGRAMS), "a program of CMake")

    def test_headers(self):
        named = {}
        for source in files("*.cpp", "*.h", "*.cu", "*.cuh"):
            for name in re.findall(r"^\s*#\s*include <([^>/]+)", source.read_text(), re.M):
                named.setdefault(name, source.relative_to(ROOT).as_posix())
        known = by_name(HEADERS)
        named = {n: w for n, w in named.items() if n in known or not HEADERS_ELSEWHERE.match(n)}
        self.assertIn("gloo", named)
        self.hold(named, known, "a header")

    def test_runtimes_of_sanitizers(self):
        """Debian's clang comes without the libraries of -fsanitize."""
        clangs = [p for p in self.listed if re.fullmatch(r"clang-\d+", p)]
        self.assertEqual(len(clangs), 1, "the fuzzers need one clang")
        self.assertIn(f"libclang-rt-{clangs[0][6:]}-dev", self.listed)

    def test_finds_what_is_not_there(self):
        """The test of this test."""
        script = """a=1 foo --x | bar   # no, not this
            if ! baz; then qux "single | not" 'nor > | this'; fi
            x=$(quux "$(corge)") && "$x"/no
            case $x in
                -h | word) grault ;;
            esac
            (for x in 1 2; do waldo; done) >&2 & command -v plugh
        """
        self.assertEqual(commands(script), {"foo", "bar", "baz", "qux", "quux", "corge", "grault",
                                            "waldo", "plugh"})
        with self.assertRaises(AssertionError):
            self.hold({"frobnicate": "here"}, by_name(PROGRAMS), "a program")
        self.listed.discard("unzip")
        with self.assertRaises(AssertionError):
            self.hold({"unzip": "here"}, by_name(PROGRAMS), "a program")


def started(call) -> list[str]:
    """Programs that a call names: subprocess.run(["x", ...]), shutil.which("x")."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if not call.args or name not in ("run", "Popen", "check_output", "check_call", "which"):
        return []
    first = call.args[0]
    if isinstance(first, ast.List) and first.elts:
        first = first.elts[0]
    elif name != "which":
        return []
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and "/" not in first.value:
        return [first.value]
    return []


class Fuzzers(unittest.TestCase):
    def run_with(self, compiler):
        """run_fuzzers where the only clang++ is this script, or none."""
        clang = re.search(r"clang-(\d+)", " ".join(packages()))[1]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for tool in "bash cat dirname mkdir nproc sed".split():
                (path / tool).symlink_to(f"/usr/bin/{tool}")
            if compiler:
                (path / f"clang++-{clang}").write_text(compiler)
                (path / f"clang++-{clang}").chmod(0o755)
            done = subprocess.run(["/bin/bash", ROOT / "tests/fuzz/run_fuzzers", "1"],
                                  env={"PATH": folder, "FUZZ_BUILD": folder + "/build"},
                                  capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr, clang

    def test_a_clang_without_the_fuzzer_runtime_is_said(self):
        status, text, clang = self.run_with(
            "#!/bin/bash\necho 'mold: fatal: cannot open libclang_rt.fuzzer-x86_64.a' >&2\nexit 1\n")
        self.assertEqual(status, 77, text)
        self.assertIn(f"install libclang-rt-{clang}-dev", text)
        self.assertIn("libclang_rt.fuzzer", text)

    def test_no_clang_is_said(self):
        status, text, clang = self.run_with(None)
        self.assertEqual(status, 77, text)
        self.assertIn(f"clang-{clang} is not installed", text)


if __name__ == "__main__":
    unittest.main()

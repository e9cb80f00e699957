#!/usr/bin/env python3
"""Checks that each file includes the headers of what it names, itself or through ours.

  check_includes.py ROOT      prints each name without its header; exit status 1 when there is one
  check_includes.py --self-test

Which standard header includes which other changes with the compiler's version: a file that compiles
with one may not with the next. And precompiled headers hide a missing #include until a source that
reuses another set includes the file. Standard names are those that new compilers have hit; of fmt
and of our own precompiled headers all names are looked at.
"""
import functools
import pathlib
import re
import sys
import tempfile

# header: names in std::
NAMES = {
    "cstdint": r"u?int(?:_fast|_least)?(?:8|16|32|64)_t|u?intptr_t|u?intmax_t",
    "stdexcept": r"runtime_error|logic_error|invalid_argument|out_of_range|length_error|domain_error",
    "limits": r"numeric_limits",
    "algorithm": r"(?:ranges::)?(?:sort|stable_sort|partial_sort|nth_element|is_sorted|find_if|find_if_not|find"
                 r"|lower_bound|upper_bound|equal_range|binary_search|reverse|rotate|shuffle|copy_n|copy_if"
                 r"|replace|remove_if|remove|unique|count|count_if|all_of|any_of|none_of|transform|fill"
                 r"|fill_n|generate|max_element|min_element|minmax_element|mismatch|search|merge"
                 r"|set_difference|set_union|includes|clamp|partition|for_each|equal"
                 r"|lexicographical_compare)(?=\()",
    "memory": r"unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared",
    "functional": r"function",
    "thread": r"thread|jthread|this_thread",
    "mutex": r"mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once",
    "array": r"array|to_array",
    "optional": r"optional|nullopt",
    "numeric": r"accumulate|iota|reduce|inner_product|partial_sum|gcd|lcm|midpoint",
    "sstream": r"[io]?stringstream",
    "fstream": r"[io]?fstream",
    "filesystem": r"filesystem",
    "chrono": r"chrono",
    "map": r"(?:multi)?map(?=<)",
    "set": r"(?:multi)?set(?=<)",
    "unordered_map": r"unordered_map",
    "variant": r"variant|get_if|holds_alternative|visit(?=\()",
    "tuple": r"tuple|tie(?=\()|make_tuple",
    "span": r"span(?=<)",
    "charconv": r"from_chars|to_chars",
    "cstring": r"mem(?:cpy|cmp|move|set)(?=\()|strlen(?=\()|strerror(?=\()",
    "cmath": r"(?:sqrt|pow|exp|log|log2|log10|floor|ceil|lround|llround|round|isnan|isfinite|hypot)(?=\()",
    "vector": r"vector(?=<)",
    "string": r"string(?!\w)|to_string(?=\()|getline(?=\()",
}
WANTED = {header: re.compile(rf"(?<![\w:])(?:std::)(?:{names})(?!\w)") for header, names in NAMES.items()}
WANTED["fmt/format.h"] = re.compile(r"(?<![\w:])fmt::(?:format|format_to|join)(?!\w)")
# Headers of ours that are precompiled; what they declare is read out of them.
PRECOMPILED = tuple(f"storage/model/{name}.h" for name in ("result", "units", "ids", "words", "events"))
OTHERS_TOO = {"std", "Word", "kPlaces", "kAll", "Error", "Duration"}  # other files use these names too
DECLARED = re.compile(r"^(?:(?:struct|enum class|class|using|concept)\s+(?:\[\[nodiscard\]\]\s+)?(\w+)"
                      r"|inline constexpr \S+ (k\w+))", re.M)
OURS = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)
STANDARD = re.compile(r"^\s*#\s*include <([\w/]+?(?:format\.h)?)(?:\.h)?>", re.M)
# <stdint.h> and the like give their names in std:: as well.
ALSO = {"stdint": "cstdint"}


def without_words(text):
    """Neither comments nor string literals name anything."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"',
                  lambda match: '""' + "\n" * match[0].count("\n"), text, flags=re.S)


def declared(root):
    """Of each precompiled header of ours, a pattern for the names that it declares."""
    for header in PRECOMPILED:
        if (root / header).is_file():
            text = without_words((root / header).read_text())
            names = {name for groups in DECLARED.findall(text) for name in groups if name} - OTHERS_TOO
            yield header, re.compile(rf"(?<![\w.>])(?:{'|'.join(sorted(names))})(?!\w)")


def missing(root):
    wanted = WANTED | dict(declared(root))

    @functools.cache
    def reached(path):
        """Headers that a file of ours includes, itself or through others of ours."""
        text = (root / path).read_text(errors="replace")
        found = {ALSO.get(name, name) for name in STANDARD.findall(text)}
        for name in OURS.findall(text):
            here = (pathlib.Path(path).parent / name).as_posix()
            for candidate in (name, here):
                if candidate != path and (root / candidate).is_file():
                    found |= reached(candidate) | {candidate}
                    break
        return frozenset(found)

    for top in ("storage", "engine", "profiler", "app", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".cu", ".cuh"):
                continue
            path = file.relative_to(root).as_posix()
            text = without_words(file.read_text(errors="replace"))
            have = reached(path) | {path}
            for header, pattern in wanted.items():
                named = pattern.search(text)
                if named and header not in have:
                    line = text[:named.start()].count("\n") + 1
                    yield f"{path}:{line}: {named[0]} without <{header}>"


def self_test():
    files = {
        "storage/a.h": ("#include <string>\nstd::uint32_t a;\n", True),
        "storage/b.h": ("#include <cstdint>\nstd::uint32_t b;\n", False),
        "storage/c.cpp": ('#include "storage/b.h"\nstd::uint8_t c;\n', False),
        "storage/d.cpp": ("// std::uint8_t\nauto d = \"std::uint8_t\";\n", False),
        "storage/e.cpp": ("#include <vector>\nvoid e() { std::sort(1, 2); }\n", True),
        "storage/f.cpp": ("#include <algorithm>\nvoid f() { std::ranges::sort(1); }\n", False),
        "storage/g.cpp": ("std::hardware_thread_count g;\nstd::views::transform(1);\n", False),
        "storage/h.cpp": ("/* one\n two */ std::optional<int> h;\n", True),
        "storage/i.cpp": ("auto i = fmt::format(\"\");\n", True),
        "storage/j.cpp": ("#include <fmt/format.h>\nauto j = fmt::format(\"\");\n", False),
        "storage/model/ids.h": ("struct RankId {};\n", False),
        "storage/k.cpp": ("shardscope::RankId k;\n", True),
        "storage/l.h": ('#include "storage/model/ids.h"\nRankId l;\n', False),
        "storage/m.cpp": ('#include "storage/l.h"\nRankId m;\n', False),
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "storage/model").mkdir(parents=True)
        for path, (text, _) in files.items():
            (root / path).write_text(text)
        caught = {line.split(":")[0] for line in missing(root)}
    wanted = {path for path, (_, wrong) in files.items() if wrong}
    for path in sorted(wanted ^ caught):
        print("not caught:" if path in wanted else "caught without reason:", path)
    return wanted == caught


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(0 if self_test() else 1)
    lines = list(missing(pathlib.Path(sys.argv[1])))
    print("\n".join(lines) or "every file includes the headers of what it names")
    sys.exit(1 if lines else 0)

#!/usr/bin/env python3
"""Sources that can be compiled as one: batches.py SIZE SOURCE...

Prints the number of a batch per source, in their order. At most SIZE sources are in a batch, and no
two of them define the same name in an unnamed namespace, an alias or a static function.
"""
import pathlib
import re
import sys

UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.M | re.S)
# What begins in the first column, to the brace or semicolon that ends its declaration.
DECLARED = re.compile(r"^(?:template .*\n)?([A-Za-z_][^;{]*[;{])", re.M)
TYPE = re.compile(r"(?:enum class|enum|struct|class|union|namespace) (\w+)")
ENUMERATORS = re.compile(r"^enum (?!class)[^{]*\{([^}]*)\}", re.M)


def names_of(declaration):
    """The constants, or the function or variable, that a declaration is about."""
    if declaration.startswith(("constexpr ", "const ")):
        constants = re.findall(r"\b(k[A-Z]\w*)(?= =|\{|,|;|\[)", declaration)
        if constants:
            return constants
    before = re.split(r"[({=;]", declaration, maxsplit=1)[0]
    return [name for name in re.findall(r"(\w+)\W*$", before) if not re.match("TEST|INSTANTIATE", name)]


def names_in(text, unnamed):
    """Names declared in the first column that another source of a batch may not declare."""
    names = set()
    for declaration in DECLARED.findall(text):
        kind = TYPE.match(declaration)
        if declaration.startswith("using "):
            names.update(re.findall(r"using (\w+) =", declaration))
        elif kind and unnamed:
            names.add(kind[1])
        elif unnamed or declaration.startswith("static "):
            names.update(names_of(declaration))
    return names


def own_names(source):
    """All of a source."""
    text = pathlib.Path(source).read_text(errors="replace")
    names = names_in(text, False)
    for inside in UNNAMED.findall(text):
        names |= names_in(inside, True)
        for enumerators in ENUMERATORS.findall(inside):
            names.update(re.findall(r"\bk[A-Z]\w*", enumerators))
    return names


def batches(sources, size):
    """For each the first batch with room and without its names."""
    filled, numbers = [], []
    for source in sources:
        names = own_names(source)
        fits = (n for n, (count, taken) in enumerate(filled) if count < size and not taken & names)
        number = next(fits, len(filled))
        if number == len(filled):
            filled.append((0, set()))
        count, taken = filled[number]
        filled[number] = (count + 1, taken | names)
        numbers.append(number)
    return numbers


if __name__ == "__main__":
    print(*batches(sys.argv[2:], int(sys.argv[1])), sep=";")

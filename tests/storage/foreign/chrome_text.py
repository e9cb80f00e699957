"""The events of a Chrome trace, whole or damaged: events_of(bytes) -> (events, elements that are no event)."""
import gzip
import json
import re
import zlib
from decimal import Decimal

DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=str, strict=False)
BLANKS = " \t\r\n,\x00\ufeff"


def text_of(data):
    if data[:2] == b"\x1f\x8b":
        inflate = zlib.decompressobj(31)
        data = gzip.decompress(data) if complete(data) else inflate.decompress(data)
    return data.decode("utf-8-sig", "replace")


def complete(data):
    try:
        return gzip.decompress(data) is not None
    except (EOFError, OSError, zlib.error):
        return False


def next_event(text, at):
    """Where the next whole event begins after the damaged one at `at`: quotes may be amiss in that."""
    for found in re.compile(r"\{").finditer(text, at + 1):
        try:
            element, _ = DECODER.raw_decode(text, found.start())
        except ValueError:
            continue
        if "ph" in element:
            return found.start()
    return len(text)


def elements(text, at):
    """Of the array whose first element is at or after `at`; None for each that is no JSON object."""
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        if at == len(text) or text[at] == "]":
            return
        try:
            element, at = DECODER.raw_decode(text, at)
            yield element if isinstance(element, dict) else None
        except ValueError:
            at = next_event(text, at)
            yield None


def first_event(text):
    """Where the list of events begins: that of the outermost object, or else of what looks like it."""
    at, key = re.compile(r"[\s\ufeff]*\{").match(text), re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")\s*:\s*')
    at = at and at.end()
    while at is not None:
        found = key.match(text, at)
        if not found:
            break
        if json.loads(found[1], strict=False) == "traceEvents" and text[found.end()] == "[":
            return found.end() + 1
        try:
            _, at = DECODER.raw_decode(text, found.end())
        except ValueError:
            break
    found = re.search(r'"traceEvents"\s*:\s*\[', text)
    return found.end() if found and at is not None else text.index("[") + 1


def events_of(data):
    text = text_of(data)
    found = list(elements(text, first_event(text)))
    kept = [event for event in found if event]
    return kept, found.count(None)

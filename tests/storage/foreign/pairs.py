"""Ends and the begins that they belong to."""
from collections import defaultdict


def thread(event):
    return str(event.get("pid")), str(event.get("tid"))


def operation(event):
    """Of an asynchronous event: local ids are of a process, others of the whole trace."""
    two = event.get("id2") or {}
    local = str(event.get("pid")) if "local" in two else None
    return event.get("cat"), event.get("scope"), local, str(event.get("id", two.get("local", two.get("global"))))


def named_operation(event):
    return *operation(event), event.get("name")


def innermost(begun, event):
    return -1


def innermost_of_name(begun, event):
    """Operations of one id may overlap; an end without a name ends the innermost."""
    same = [i for i, (_, first) in enumerate(begun) if first.get("name") == event.get("name")]
    return same[-1] if same else -1


KINDS = (("B", "E", thread, innermost), ("b", "e", operation, innermost_of_name),
         ("S", "F", named_operation, innermost))


def pairs(placed, begin, end, key_of, which):
    """Of (time, event) in any order: pairs of them, and how many have no partner."""
    begun, found, lost = defaultdict(list), [], 0
    for time, event in sorted(placed, key=lambda p: p[0]):
        if event.get("ph") == begin:
            begun[key_of(event)].append((time, event))
        elif event.get("ph") == end and begun[key_of(event)]:
            mine = begun[key_of(event)]
            found.append((mine.pop(which(mine, event)), (time, event)))
        elif event.get("ph") == end:
            lost += 1
    return found, lost + sum(map(len, begun.values()))

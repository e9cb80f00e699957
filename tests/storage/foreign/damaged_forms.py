"""Chrome traces that are cut, glued together, in another encoding or not quite JSON."""
import json

from form import P, X, Form, array, packed, text, training, work


def cut():
    events = work()
    whole = text(events)
    yield Form("no_closing_bracket", array(events)[:-1], array(events))
    yield Form("comma_behind_last_of_open_array", array(events)[:-1] + b",\n", array(events))
    yield Form("cut_within_event", whole[:-30], text(events[:-1]), rejected=1)
    yield Form("cut_gzip", packed(whole)[:-8], whole, rejected=None, ending=".json.gz")
    yield Form("begins_without_end", text(events + [P("B", "open", 5)]), text(events), rejected=1)
    yield Form("ends_without_begin", text(events + [P("E", "", 5, tid=77)]), text(events), rejected=1)
    yield Form("end_before_begin_in_time", text(events + [P("B", "x", 50, tid=5), P("E", "x", 20, tid=5)]), text(events),
               rejected=2)


def not_quite_json():
    events = work()
    whole = text(events)
    yield Form("comma_behind_last", whole.replace(b"}]", b"},\n]"), whole)
    yield Form("commas_within_events", whole.replace(b"}, {", b",}, {"), text(events[-1:]), rejected=11)
    yield Form("byte_order_mark", b"\xef\xbb\xbf" + whole, whole)
    yield Form("crlf_and_blanks", b"\r\n\t " + text(events, 2).replace(b"\n", b"\r\n") + b"\r\n\r\n", whole)
    yield Form("one_event_a_line", b"\n".join(json.dumps(e).encode() for e in events), whole)
    yield Form("two_documents", whole + b"\n" + text(work(3, 900)), whole, rejected=None)
    yield Form("nan_and_infinity", whole.replace(b'"dur"', b'"args": {"loss": NaN, "norm": -Infinity}, "dur"'), whole)
    yield Form("nan_time", text(events + [X("lost", 5, 5)]).replace(b'"ts": 5, "dur": 5', b'"ts": NaN, "dur": 5'), whole,
               rejected=1)
    yield Form("null_members", text([{**e, "args": None, "id": None, "cat": None} for e in events]), whole)
    front, behind = whole.split(b"}, {", 1)
    yield Form("brace_too_many", front + b"}}, {" + behind, whole, rejected=None)
    yield Form("comma_missing", front + b"}\n{" + behind, whole, rejected=None)
    yield Form("colon_missing", whole.replace(b'"ts":', b'"ts"', 1), text(events[1:]), rejected=1)
    yield Form("quote_in_name", whole.replace(b"aten::op0", b'my "own" part', 1),
               text([e for e in events if e is not events[0]]), rejected=1)
    yield Form("latin_1_in_name", whole.replace(b"aten::op0", b"sch\xf6n", 1),
               whole.replace(b"aten::op0", b"sch?n", 1))
    yield Form("lone_surrogate", whole.replace(b"aten::op0", b"a\\ud83d", 1),
               whole.replace(b"aten::op0", "a\ufffd".encode(), 1))
    yield Form("zero_bytes_behind", whole + bytes(512), whole, rejected=None)
    yield Form("numbers_and_nulls_between", whole.replace(b"}, {", b"}, null, 5, {", 1), whole, rejected=2)
    yield Form("empty_events_between", whole.replace(b"}, {", b"}, {}, {"), whole)
    yield Form("negative_duration", text(events + [X("odd", 5, -3)]), text(events + [X("odd", 5, 0)]))
    yield Form("number_as_name", text(events + [X(5, 5, 3)]), text(events + [X("5", 5, 3)]))
    yield Form("number_as_category", text(events + [{**X("k", 5, 3), "cat": 7}]), text(events + [X("k", 5, 3)]))
    yield Form("steps_without_end", text(training() + [P("B", "ProfilerStep#3", 3000, 10, 11)]), text(training()), rejected=1)


def refused():
    events = work(3)
    yield Form("utf_16", text(events).decode().encode("utf-16"), refused="iconv")
    yield Form("utf_16_without_mark", text(events).decode().encode("utf-16-le"), refused="UTF-16")
    yield Form("no_events", b'{"traceEvents": []}', refused="no event")
    yield Form("empty_file", b"", refused="empty")
    yield Form("other_json", b'{"a": [1, 2, 3]}', refused="traceEvents")
    yield Form("html", b"<!doctype html><html><body>{}</body></html>", refused="HTML")
    yield Form("plain_words", b"DeepSpeed Flops Profiler\nparams per gpu: 1 M\nfwd latency: 3 ms\n", refused="not JSON")
    yield Form("execution_trace", json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 5, "nodes": [
        {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "attrs": []}]}).encode(),
        refused="xecution")
    yield Form("speedscope", json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {
        "frames": [{"name": "a"}]}, "profiles": []}).encode(), refused="speedscope")


def damaged():
    for group in (cut, not_quite_json, refused):
        yield from group()

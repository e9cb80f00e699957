"""A reader of recordings written from storage/schema/FORMAT.md alone: read(path)."""
import re
import sqlite3
import struct

import zstandard

KINDS = [None, "span", "memory", "counter", None, "flow", "instant"]
COLUMNS = {
    1: "start duration lane name arguments correlation step layer phase depth".split(),
    2: "time address size action category owner step layer phase".split(),
    3: "time lane".split(),
    5: "time to_span lane correlation id_text name category arguments step point binding bound depth".split(),
    6: "time lane name arguments step scope".split(),
}
CRC_TABLE = list(range(256))
for _ in range(8):
    CRC_TABLE = [c >> 1 ^ (0x82F63B78 if c & 1 else 0) for c in CRC_TABLE]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def signed(value):
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


class Payload:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0]

    def bytes(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def end(self, result):
        assert self.at == len(self.data), "bytes left over"
        return result

    def residuals(self, width, count):
        values = [0] * count
        for plane in range(width):
            for i, byte in enumerate(self.data[self.at:self.at + count]):
                values[i] |= byte << 8 * plane
            self.at += count
        return values

    def column(self, count):
        transform = self.take("B")
        if transform == 2:
            entries = self.column(self.take("I"))
            return [entries[i] for i in self.column(count)]
        width, base = self.take("B"), self.take("q")
        if transform == 0:
            return [signed(base + r) for r in self.residuals(width, count)]
        assert transform == 1, transform
        value, values = self.take("q"), []
        for residual in self.residuals(width, count):
            value = signed(value + base + residual)
            values.append(value)
        return values

    def doubles(self, count):
        form, values = self.take("B"), self.column(count)
        if form == 0:
            return [float(v) for v in values]
        return [struct.unpack("<d", struct.pack("<q", v))[0] for v in values]


def unseal(blob, front):
    raw, packed, crc = struct.unpack_from("<III", blob, front)
    frame = blob[front + 12:]
    assert len(frame) == packed and crc32c(blob[:front + 8] + frame) == crc, "checksum"
    return Payload(zstandard.ZstdDecompressor().decompress(frame, max_output_size=raw))


def chunk(blob, row):
    magic, version, kind, _, rank, count, first, last, lanes = struct.unpack_from("<IBBHIIqqI", blob)
    assert magic == 0x314B4353 and version == 1, "not a chunk of version 1"
    assert (kind, rank, first, last, count) == row, "front and row differ"
    payload = unseal(blob, 36 + 8 * lanes)
    columns = {name: payload.column(count) for name in COLUMNS[kind]}
    if kind == 3:
        columns["value"] = payload.doubles(count)
    if kind == 2 and payload.at < len(payload.data):
        columns["arguments"] = payload.column(count)
    return payload.end(columns)


def filled(form, values, strings):
    def mark(match):
        if match[0][0] == '"':
            return match[0]
        value = next(values)
        if match[0] == "%":
            places = next(values)
            return f"{'-' * (value < 0)}{abs(value) // 10**places}.{abs(value) % 10**places:0{places}}"
        if match[0] == "^":
            return "[" + ",".join(strings[int(i)] for i in strings[value].split()) + "]"
        return str(value) if match[0] == "#" else strings[value]
    return re.sub(r'"(?:[^"\\]|\\.)*"|[#%@^]', mark, form)


def packed(file, name):
    """Rows of a table that the file keeps as columns."""
    found = []
    for count, length, blob in file.execute(
            "SELECT count, bytes, data FROM packed WHERE name=? ORDER BY id", (name,)):
        assert struct.unpack_from("<III", blob) == (0x31545253, count, 1), "not packed rows"
        assert length == len(blob), "length of packed rows"
        payload, rows, before = unseal(blob, 12), [{} for _ in range(count)], None
        for _ in range(payload.take("I")):
            column = payload.bytes(payload.take("B")).decode()
            types, from_before, values = payload.column(count), payload.take("B"), payload.column(count)
            if from_before:
                values = [signed(a + b) for a, b in zip(values, before)]
            before = values
            data = [payload.bytes(n) for n in payload.column(payload.take("I"))]
            for row, cell_type, value in zip(rows, types, values):
                row[column] = [lambda v: None, lambda v: v,
                               lambda v: struct.unpack("<d", struct.pack("<q", v))[0],
                               lambda v: data[v].decode(), lambda v: data[v]][cell_type](value)
        found += payload.end(rows)
    return found


def rows_of(file, name, columns):
    """Rows of a table, by name of column; of one that is packed the file has no table."""
    return [{c: row[c] for c in columns} for row in packed(file, name)] or [
        dict(zip(columns, row)) for row in file.execute(f"SELECT {','.join(columns)} FROM {name}")]


def texts(file, rank):
    strings = {row["id"]: row["text"]
               for row in rows_of(file, "strings", ["rank", "id", "text"]) if row["rank"] == rank}
    found = {0: "", **strings}
    for first, count, blob in file.execute(
            "SELECT first_id, count, data FROM arguments WHERE rank=?", (rank,)):
        assert struct.unpack_from("<III", blob) == (0x31414353, count, 1), "not arguments"
        payload = unseal(blob, 12)
        n = payload.take("I")
        forms, counts, rows = payload.column(n), payload.column(n), payload.column(count)
        for form in range(n):
            of = [i for i, own in enumerate(rows) if own == form]
            values = zip(*[payload.column(len(of)) for _ in range(counts[form])])
            for i, own in zip(of, list(values) or [()] * len(of)):
                found[first + i] = filled(strings.get(forms[form], ""), iter(own), strings)
    return found


def segment(blob):
    magic, form, count = struct.unpack_from("<III", blob)
    assert magic == 0x31595053, "not a pyramid segment"
    payload = unseal(blob, 12)
    columns = [payload.column(count) for _ in range({1: 12, 2: 3}[form])]
    columns += [payload.doubles(count) for _ in range({1: 0, 2: 3}[form])]
    return payload.end(sum(columns[4 if form == 1 else 2]))


def cell(value):
    if value is None:
        return b"\0"
    if isinstance(value, int):
        return b"\1" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"\2" + struct.pack("<d", value)
    tag, data = (b"\3", value.encode()) if isinstance(value, str) else (b"\4", value)
    return tag + struct.pack("<I", len(data)) + data


def checksums(file):
    for key, value in file.execute("SELECT key, value FROM meta WHERE key LIKE 'checksum.%'"):
        table = key.removeprefix("checksum.")
        names = [row[1] for row in file.execute(f"PRAGMA table_info({table})") if row[1] != "data"]
        but = "WHERE key NOT LIKE 'checksum.%'" if table == "meta" else ""
        rows = file.execute(f"SELECT {','.join(names)} FROM {table} {but}").fetchall()
        total = sum(crc32c(b"".join(map(cell, row))) for row in rows)
        assert value == f"{len(rows)} {total}", f"checksum of {table}"


def connect(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def read(path):
    file = connect(path)
    application, version = next(
        file.execute("SELECT * FROM pragma_application_id, pragma_user_version"))
    assert application == 0x53536370 and version // 1000 == 2, "no recording, or another version"
    checksums(file)
    sums = {}
    rows = file.execute("SELECT kind, rank, first_ns, last_ns, count, data FROM chunks ORDER BY id")
    found = {rank: texts(file, rank) for (rank,) in file.execute("SELECT rank FROM ranks")}
    for *row, blob in rows:
        columns = chunk(blob, tuple(row))
        start = columns.get("start", columns.get("time"))
        assert start == sorted(start), "events out of order"
        fields = [columns.get(c, ()) for c in ("duration", "size", "value", "correlation")]
        lengths = [len(found[row[1]][i]) for i in columns.get("arguments", ())]
        entry = sums.get((KINDS[row[0]], row[1]), [0] * 7)
        sums[KINDS[row[0]], row[1]] = [
            a + sum(b) for a, b in zip(entry, [[1] * len(start), start, *fields, lengths])]
    events = sum(segment(blob) for (blob,) in file.execute("SELECT data FROM pyramid"))
    return sums, events

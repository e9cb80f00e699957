#!/usr/bin/env python3
"""A reader of recordings written from storage/schema/FORMAT.md alone.

  reader.py RECORDING [SHARDSCOPE]     decodes everything; with the program, compares with `query`
Needs zstandard from PyPI; without it says so and exits with 77 (skipped).
"""
import json
import sqlite3
import struct
import subprocess
import sys

try:
    import zstandard
except ImportError:
    print("skipped: the Python package zstandard is not installed")
    sys.exit(77)

KINDS = {1: "span", 2: "memory", 3: "counter"}
COLUMNS = {
    1: "start duration lane name arguments correlation step layer phase depth".split(),
    2: "time address size action category owner step layer phase".split(),
    3: "time lane".split(),
}
MASK = (1 << 64) - 1
CRC_TABLE = list(range(256))
for _ in range(8):
    CRC_TABLE = [c >> 1 ^ (0x82F63B78 if c & 1 else 0) for c in CRC_TABLE]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def signed(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


class Payload:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0]

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
    assert payload.at == len(payload.data), "bytes left over"
    return columns


def segment(blob):
    magic, form, count = struct.unpack_from("<III", blob)
    assert magic == 0x31595053 and form in (1, 2), "not a pyramid segment"
    payload = unseal(blob, 12)
    columns = [payload.column(count) for _ in range(12 if form == 1 else 3)]
    columns += [payload.doubles(count) for _ in range(0 if form == 1 else 3)]
    assert payload.at == len(payload.data), "bytes left over"
    return sum(columns[4 if form == 1 else 2])


def read(path):
    file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert file.execute("PRAGMA application_id").fetchone()[0] == 0x53536370, "not a recording"
    assert file.execute("PRAGMA user_version").fetchone()[0] // 1000 == 1, "another version"
    sums = {}
    rows = file.execute("SELECT kind, rank, first_ns, last_ns, count, data FROM chunks ORDER BY id")
    for *row, blob in rows:
        columns = chunk(blob, tuple(row))
        start = columns.get("start", columns.get("time"))
        assert start == sorted(start), "events out of order"
        entry = sums.setdefault((KINDS[row[0]], row[1]), [0] * 6)
        for i, values in enumerate((None, start, columns.get("duration"), columns.get("size"),
                                    columns.get("value"), columns.get("correlation"))):
            entry[i] += len(start) if i == 0 else sum(values or [])
    events = sum(segment(blob) for (blob,) in file.execute("SELECT data FROM pyramid"))
    return sums, events


def main():
    sums, summarised = read(sys.argv[1])
    print(f"{sum(s[0] for s in sums.values())} events, pyramids count {summarised}")
    if len(sys.argv) < 3:
        return
    sql = ("SELECT kind, rank, count(*), sum(start_ns), coalesce(sum(duration_ns), 0),"
           " coalesce(sum(size_bytes), 0), total(value), coalesce(sum(correlation), 0)"
           " FROM events GROUP BY kind, rank")
    answer = subprocess.run([sys.argv[2], "query", "--json", sys.argv[1], sql],
                            capture_output=True, check=True, text=True)
    asked = {(row[0], int(row[1])): [float(cell) for cell in row[2:]]
             for row in json.loads(answer.stdout)["rows"]}
    assert asked.keys() == sums.keys(), (asked.keys(), sums.keys())
    for key, ours in sums.items():
        for mine, theirs in zip(ours, asked[key]):
            assert abs(mine - theirs) <= 1e-9 * max(1, abs(mine)), (key, ours, asked[key])
    print("agrees with `shardscope query`")


if __name__ == "__main__":
    main()

#include "storage/recording/read/summary_rows.h"

#include "storage/recording/file/collective_bounds.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/recording/file/row_sql.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace shardscope::storage {
namespace {

/// The run's one row, and whether it was finalised.
Result<void> readRun(Connection& connection, RecordingSummary& summary) {
    auto select =
        connection.prepare("SELECT " + columnList(tableOf<RunFacts>()) + ", finalised FROM run");
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return {};
        summary.run = rowOf<RunFacts>(*select);
        summary.complete = select->integer(columnCount(tableOf<RunFacts>())) != 0;
    }
}

template <TableRow Row>
Result<void> readInto(Connection& connection, std::vector<Row>& into) {
    auto rows = readRows<Row>(connection);
    if (!rows) return failure(rows);
    into = std::move(*rows);
    return {};
}

Result<void> readTables(Connection& connection, RecordingSummary& summary) {
    if (auto done = readRun(connection, summary); !done) return done;
    if (auto done = readInto(connection, summary.hosts); !done) return done;
    if (auto done = readInto(connection, summary.clocks); !done) return done;
    if (auto done = readInto(connection, summary.ranks); !done) return done;
    if (auto done = readInto(connection, summary.devices); !done) return done;
    if (auto done = readInto(connection, summary.lanes); !done) return done;
    if (auto done = readInto(connection, summary.steps); !done) return done;
    if (auto done = readInto(connection, summary.metrics); !done) return done;
    if (auto done = readInto(connection, summary.memoryTheory); !done) return done;
    if (auto done = readInto(connection, summary.diagnostics); !done) return done;
    std::erase_if(summary.memoryTheory,
                  [](const MemoryTheory& theory) { return !isOne(theory.category); });
    auto detail = readDetail(connection);
    if (!detail) return failure(detail);
    summary.detail = std::move(*detail);
    return {};
}

void extend(TimeRange& bounds, TimeRange other) {
    if (bounds == TimeRange{}) bounds = other;
    bounds.begin = std::min(bounds.begin, other.begin);
    bounds.end = std::max(bounds.end, other.end);
}

/// Of a finalised file as it says, of any other by its rows.
Result<CollectiveBounds> collectivesOf(Connection& connection, bool finalised) {
    if (finalised) {
        const auto stored = storedCollectives(connection);
        if (!stored) return failure(stored);
        if (*stored) return **stored;
    }
    return countCollectives(connection);
}

/// Everything stored: chunks, steps, collectives, metrics.
Result<void> readBounds(Connection& connection, const ChunkDirectory& chunks,
                        RecordingSummary& summary) {
    summary.bounds = chunks.bounds();
    for (const StepFacts& step : summary.steps) extend(summary.bounds, step.range());
    for (const MetricPoint& metric : summary.metrics)
        extend(summary.bounds, {metric.time, metric.time});
    const auto collectives = collectivesOf(connection, summary.complete);
    if (!collectives) return failure(collectives);
    summary.events.collectives = collectives->count;
    if (collectives->count != 0) extend(summary.bounds, collectives->range);
    return {};
}

Bytes sizeOf(const std::string& path) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    return missing ? Bytes{} : Bytes{static_cast<std::int64_t>(size)};
}

}  // namespace

Result<RecordingSummary> readSummary(Connection& connection, const ChunkDirectory& chunks) {
    RecordingSummary summary;
    if (auto done = readTables(connection, summary); !done) return failure(done);
    summary.events = chunks.counts();
    summary.chunkBytes = chunks.bytes();
    if (auto done = readBounds(connection, chunks, summary); !done) return failure(done);
    // A file whose checksums cannot be read has none to hold it to; `info --verify` says so.
    // Whether rows of collectives were lost shows only in reading all of them.
    const std::map<std::string, std::uint64_t> known{{"collectives", summary.events.collectives},
                                                     {"metrics", summary.metrics.size()},
                                                     {"steps", summary.steps.size()}};
    if (auto lost = lostRows(connection, known)) summary.lostRows = std::move(*lost);
    if (!summary.complete) summary.run.ended = summary.bounds.end;
    summary.fileSize = sizeOf(connection.path()) + sizeOf(connection.path() + "-wal");
    return summary;
}

}  // namespace shardscope::storage

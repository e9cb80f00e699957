#include "storage/recording/summary_rows.h"

#include "storage/recording/detail_rows.h"
#include "storage/recording/row_checksums.h"

#include <filesystem>
#include <limits>

namespace shardscope::storage {
namespace {

/// Runs `sql` and calls `use` for every row.
template <class Use>
Result<void> forEachRow(Connection& connection, const char* sql, Use use) {
    auto select = connection.prepare(sql);
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return {};
        use(*select);
    }
}

std::int32_t small(const Statement& row, int column) {
    return static_cast<std::int32_t>(row.integer(column));
}
RankId rankOf(const Statement& row, int column) {
    return {static_cast<std::uint32_t>(row.integer(column))};
}
std::string textOf(const Statement& row, int column) {
    return std::string(row.text(column));
}

Result<void> readRun(Connection& connection, RecordingSummary& summary) {
    return forEachRow(
        connection,
        "SELECT id, config_json, command_line, product, libraries_json, environment_json, model,"
        " strategy, world_size, parameters, started_unix_ns, status, ended_ns, finalised FROM run",
        [&](const Statement& row) {
            RunFacts& run = summary.run;
            run.id = textOf(row, 0);
            run.configJson = textOf(row, 1);
            run.commandLine = textOf(row, 2);
            run.product = textOf(row, 3);
            run.librariesJson = textOf(row, 4);
            run.environmentJson = textOf(row, 5);
            run.model = textOf(row, 6);
            run.strategy = textOf(row, 7);
            run.worldSize = small(row, 8);
            run.parameters = row.integer(9);
            run.startedUnixNs = row.integer(10);
            run.status = static_cast<RunStatus>(row.integer(11));
            run.ended.ns = row.integer(12);
            summary.complete = row.integer(13) != 0;
        });
}

Result<void> readHosts(Connection& connection, RecordingSummary& summary) {
    return forEachRow(connection,
                      "SELECT host, name, cpu, cores, memory_bytes, boot_id, clock_offset_ns,"
                      " clock_error_ns FROM hosts ORDER BY host",
                      [&](const Statement& row) {
                          summary.hosts.push_back({small(row, 0),
                                                   textOf(row, 1),
                                                   textOf(row, 2),
                                                   small(row, 3),
                                                   {row.integer(4)},
                                                   textOf(row, 5),
                                                   row.integer(6),
                                                   row.integer(7)});
                      });
}

Result<void> readRanks(Connection& connection, RecordingSummary& summary) {
    return forEachRow(
        connection,
        "SELECT rank, host, pid, device, peak_flops, peak_source, emitted, dropped, exit_code,"
        " exit_signal FROM ranks ORDER BY rank",
        [&](const Statement& row) {
            RankFacts rank;
            rank.rank = rankOf(row, 0);
            rank.host = small(row, 1);
            rank.pid = row.integer(2);
            rank.device = textOf(row, 3);
            if (!row.isNull(4)) rank.peakFlops = row.real(4);
            rank.peakSource = textOf(row, 5);
            rank.emitted = static_cast<std::uint64_t>(row.integer(6));
            rank.dropped = static_cast<std::uint64_t>(row.integer(7));
            if (!row.isNull(8)) rank.exitCode = small(row, 8);
            if (!row.isNull(9)) rank.exitSignal = small(row, 9);
            summary.ranks.push_back(std::move(rank));
        });
}

Result<void> readLanes(Connection& connection, RecordingSummary& summary) {
    return forEachRow(connection,
                      "SELECT rank, lane, role, name, unit, position FROM lanes"
                      " ORDER BY rank, position, lane",
                      [&](const Statement& row) {
                          summary.lanes.push_back({rankOf(row, 0),
                                                   {static_cast<std::uint32_t>(row.integer(1))},
                                                   static_cast<LaneRole>(row.integer(2)),
                                                   textOf(row, 3),
                                                   textOf(row, 4),
                                                   small(row, 5)});
                      });
}

Result<void> readDevices(Connection& connection, RecordingSummary& summary) {
    const auto there = connection.hasTable("devices");  // since 1.1
    if (!there) return failure(there);
    if (!*there) return {};
    const auto real = [](const Statement& row, int column) -> std::optional<double> {
        if (row.isNull(column)) return std::nullopt;
        return row.real(column);
    };
    return forEachRow(
        connection,
        "SELECT rank, name, uuid, pci_bus_id, memory_bytes, driver, shared_by, mig, attention,"
        " tracing, vendor_peak_flops, vendor_peak_source, measured_peak_flops,"
        " measured_peak_source, clock_error_ns FROM devices ORDER BY rank",
        [&](const Statement& row) {
            DeviceFacts device;
            device.rank = rankOf(row, 0);
            device.name = textOf(row, 1);
            device.uuid = textOf(row, 2);
            device.pciBusId = textOf(row, 3);
            device.memory = {row.integer(4)};
            device.driver = textOf(row, 5);
            device.sharedBy = small(row, 6);
            device.mig = row.integer(7) != 0;
            device.attention = textOf(row, 8);
            device.tracing = textOf(row, 9);
            device.vendorPeak = real(row, 10);
            device.vendorPeakSource = textOf(row, 11);
            device.measuredPeak = real(row, 12);
            device.measuredPeakSource = textOf(row, 13);
            device.clockErrorNs = row.integer(14);
            summary.devices.push_back(std::move(device));
        });
}

Result<void> readSteps(Connection& connection, RecordingSummary& summary) {
    return forEachRow(
        connection,
        "SELECT rank, step, start_ns, end_ns, tokens, expected_gathers, expected_reductions,"
        " expected_phases, emitted, dropped, cpu_time_ns, resident_set_bytes FROM steps"
        " ORDER BY step, rank",
        [&](const Statement& row) {
            StepFacts step;
            step.rank = rankOf(row, 0);
            step.step = {small(row, 1)};
            step.start = {row.integer(2)};
            step.end = {row.integer(3)};
            step.tokens = row.integer(4);
            step.expectedGathers = small(row, 5);
            step.expectedReductions = small(row, 6);
            step.expectedPhases = small(row, 7);
            step.emitted = static_cast<std::uint64_t>(row.integer(8));
            step.dropped = static_cast<std::uint64_t>(row.integer(9));
            step.cpuTimeNs = row.integer(10);
            step.residentSet = {row.integer(11)};
            summary.steps.push_back(step);
        });
}

Result<void> readMetrics(Connection& connection, RecordingSummary& summary) {
    return forEachRow(
        connection, "SELECT name, step, time_ns, value FROM metrics ORDER BY time_ns, rowid",
        [&](const Statement& row) {
            const double value =
                row.isNull(3) ? std::numeric_limits<double>::quiet_NaN() : row.real(3);
            summary.metrics.push_back({textOf(row, 0), {small(row, 1)}, {row.integer(2)}, value});
        });
}

Result<void> readTheory(Connection& connection, RecordingSummary& summary) {
    return forEachRow(
        connection,
        "SELECT rank, category, size_bytes FROM memory_theory"
        " ORDER BY rank, category",
        [&](const Statement& row) {
            const std::int64_t category = row.integer(1);
            if (category < 0 || category >= kMemoryCategoryCount) return;
            summary.memoryTheory.push_back(
                {rankOf(row, 0), static_cast<MemoryCategory>(category), {row.integer(2)}});
        });
}

Result<void> readDiagnostics(Connection& connection, RecordingSummary& summary) {
    return forEachRow(connection,
                      "SELECT severity, code, message, remedy, rank, time_ns, count"
                      " FROM diagnostics ORDER BY id",
                      [&](const Statement& row) {
                          Diagnostic diagnostic{static_cast<Severity>(row.integer(0)),
                                                textOf(row, 1),
                                                textOf(row, 2),
                                                textOf(row, 3),
                                                std::nullopt,
                                                {row.integer(5)},
                                                row.integer(6)};
                          if (!row.isNull(4)) diagnostic.rank = rankOf(row, 4);
                          summary.diagnostics.push_back(std::move(diagnostic));
                      });
}

Result<void> readDetailRows(Connection& connection, RecordingSummary& summary) {
    auto rows = readDetail(connection);
    if (!rows) return failure(rows);
    summary.detail = std::move(*rows);
    return {};
}

void extend(TimeRange& bounds, TimeRange other) {
    if (bounds == TimeRange{}) bounds = other;
    bounds.begin = std::min(bounds.begin, other.begin);
    bounds.end = std::max(bounds.end, other.end);
}

/// Everything stored: chunks, steps, collectives, metrics.
Result<void> readBounds(Connection& connection, const ChunkDirectory& chunks,
                        RecordingSummary& summary) {
    summary.bounds = chunks.bounds();
    for (const StepFacts& step : summary.steps) extend(summary.bounds, step.range());
    for (const MetricPoint& metric : summary.metrics)
        extend(summary.bounds, {metric.time, metric.time});
    return forEachRow(connection, "SELECT count(*), min(start_ns), max(end_ns) FROM collectives",
                      [&](const Statement& row) {
                          summary.events.collectives = static_cast<std::uint64_t>(row.integer(0));
                          if (row.integer(0) == 0) return;
                          extend(summary.bounds, {{row.integer(1)}, {row.integer(2)}});
                      });
}

Bytes sizeOf(const std::string& path) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    return missing ? Bytes{} : Bytes{static_cast<std::int64_t>(size)};
}

}  // namespace

Result<RecordingSummary> readSummary(Connection& connection, const ChunkDirectory& chunks) {
    RecordingSummary summary;
    for (const auto read : {readRun, readHosts, readRanks, readDevices, readLanes, readSteps,
                            readMetrics, readTheory, readDiagnostics, readDetailRows})
        if (auto done = read(connection, summary); !done) return failure(done);
    // A file whose checksums cannot be read has none to hold it to; `info --verify` says so.
    if (auto lost = lostRows(connection)) summary.lostRows = std::move(*lost);
    summary.events = chunks.counts();
    summary.chunkBytes = chunks.bytes();
    if (auto done = readBounds(connection, chunks, summary); !done) return failure(done);
    if (!summary.complete) summary.run.ended = summary.bounds.end;
    summary.fileSize = sizeOf(connection.path()) + sizeOf(connection.path() + "-wal");
    return summary;
}

}  // namespace shardscope::storage

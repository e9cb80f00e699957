#include "storage/recording/row_writer.h"

#include <cmath>
#include <iterator>
#include <span>

namespace shardscope::storage {
namespace {

enum Insert : std::size_t {
    kHost,
    kLane,
    kRank,
    kDevice,
    kString,
    kArguments,
    kStep,
    kMetric,
    kTheory,
    kDiagnostic,
    kLibraries,
    kRun,
    kFinish
};

constexpr const char* kSql[] = {
    "INSERT OR REPLACE INTO hosts VALUES(?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO lanes VALUES(?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO ranks VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO devices VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO strings VALUES(?,?,?)",
    "INSERT INTO arguments(rank, first_id, count, bytes, data) VALUES(?,?,?,?,?)",
    "INSERT OR REPLACE INTO steps VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO metrics VALUES(?,?,?,?)",
    "INSERT OR REPLACE INTO memory_theory VALUES(?,?,?)",
    "INSERT INTO diagnostics(severity, code, message, remedy, rank, time_ns, count)"
    " VALUES(?,?,?,?,?,?,?)",
    "UPDATE run SET libraries_json=?",
    "UPDATE run SET id=?, config_json=?, command_line=?, product=?, libraries_json=?,"
    " environment_json=?, model=?, strategy=?, world_size=?, parameters=?, started_unix_ns=?",
    "UPDATE run SET status=?, ended_ns=?, finalised=?",
};

std::int64_t signedOf(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

}  // namespace

Result<RowWriter> RowWriter::create(Connection& connection) {
    RowWriter rows(connection);
    for (const char* sql : kSql) {
        auto statement = connection.prepare(sql);
        if (!statement) return failure(statement);
        rows.m_statements.push_back(std::move(*statement));
    }
    return rows;
}

Result<void> RowWriter::putLibraries(const std::string& librariesJson) {
    return m_statements[kLibraries].bind(1, librariesJson).run();
}

Result<void> RowWriter::putRun(const RunFacts& run) {
    return m_statements[kRun]
        .bind(1, run.id)
        .bind(2, run.configJson)
        .bind(3, run.commandLine)
        .bind(4, run.product)
        .bind(5, run.librariesJson)
        .bind(6, run.environmentJson)
        .bind(7, run.model)
        .bind(8, run.strategy)
        .bind(9, std::int64_t{run.worldSize})
        .bind(10, run.parameters)
        .bind(11, run.startedUnixNs)
        .run();
}

Result<void> RowWriter::addHost(const HostFacts& host) {
    return m_statements[kHost]
        .bind(1, std::int64_t{host.host})
        .bind(2, host.name)
        .bind(3, host.cpu)
        .bind(4, std::int64_t{host.cores})
        .bind(5, host.memory.count)
        .bind(6, host.bootId)
        .bind(7, host.clockOffsetNs)
        .bind(8, host.clockErrorNs)
        .run();
}

Result<void> RowWriter::addLane(const LaneFacts& lane) {
    return m_statements[kLane]
        .bind(1, std::int64_t{lane.rank.value})
        .bind(2, std::int64_t{lane.lane.value})
        .bind(3, static_cast<std::int64_t>(lane.role))
        .bind(4, lane.name)
        .bind(5, lane.unit)
        .bind(6, std::int64_t{lane.order})
        .run();
}

Result<void> RowWriter::putRank(const RankFacts& rank) {
    return m_statements[kRank]
        .bind(1, std::int64_t{rank.rank.value})
        .bind(2, std::int64_t{rank.host})
        .bind(3, rank.pid)
        .bind(4, rank.device)
        .bind(5, rank.peakFlops)
        .bind(6, rank.peakSource)
        .bind(7, signedOf(rank.emitted))
        .bind(8, signedOf(rank.dropped))
        .bind(9, rank.exitCode)
        .bind(10, rank.exitSignal)
        .run();
}

Result<void> RowWriter::putDevice(const DeviceFacts& device) {
    return m_statements[kDevice]
        .bind(1, std::int64_t{device.rank.value})
        .bind(2, device.name)
        .bind(3, device.uuid)
        .bind(4, device.pciBusId)
        .bind(5, device.memory.count)
        .bind(6, device.driver)
        .bind(7, std::int64_t{device.sharedBy})
        .bind(8, std::int64_t{device.mig ? 1 : 0})
        .bind(9, device.attention)
        .bind(10, device.tracing)
        .bind(11, device.vendorPeak)
        .bind(12, device.vendorPeakSource)
        .bind(13, device.measuredPeak)
        .bind(14, device.measuredPeakSource)
        .bind(15, device.clockErrorNs)
        .run();
}

Result<void> RowWriter::addStrings(RankId rank, StringId first,
                                   const std::vector<std::string>& texts) {
    std::int64_t id = first.value;
    for (const std::string& text : texts) {
        auto done = m_statements[kString]
                        .bind(1, std::int64_t{rank.value})
                        .bind(2, id++)
                        .bind(3, text)
                        .run();
        if (!done) return done;
    }
    return {};
}

Result<void> RowWriter::addArguments(RankId rank, StringId first,
                                     const columns::ArgumentRows& rows) {
    const columns::ChunkBytes bytes = columns::encodeArguments(rows);
    return m_statements[kArguments]
        .bind(1, std::int64_t{rank.value})
        .bind(2, std::int64_t{first.value})
        .bind(3, static_cast<std::int64_t>(rows.rows.size()))
        .bind(4, static_cast<std::int64_t>(bytes.size()))
        .bind(5, std::span<const std::byte>(bytes))
        .run();
}

Result<void> RowWriter::addStep(const StepFacts& step) {
    return m_statements[kStep]
        .bind(1, std::int64_t{step.rank.value})
        .bind(2, std::int64_t{step.step.value})
        .bind(3, step.start.ns)
        .bind(4, step.end.ns)
        .bind(5, step.tokens)
        .bind(6, std::int64_t{step.expectedGathers})
        .bind(7, std::int64_t{step.expectedReductions})
        .bind(8, std::int64_t{step.expectedPhases})
        .bind(9, signedOf(step.emitted))
        .bind(10, signedOf(step.dropped))
        .bind(11, step.cpuTimeNs)
        .bind(12, step.residentSet.count)
        .run();
}

Result<void> RowWriter::addMetric(const MetricPoint& metric) {
    Statement& insert = m_statements[kMetric];
    insert.bind(1, metric.name).bind(2, std::int64_t{metric.step.value}).bind(3, metric.time.ns);
    // SQLite stores NaN as NULL and infinities as they are.
    if (std::isnan(metric.value)) return insert.bind(4, std::nullopt).run();
    return insert.bind(4, metric.value).run();
}

Result<void> RowWriter::addMemoryTheory(const MemoryTheory& theory) {
    return m_statements[kTheory]
        .bind(1, std::int64_t{theory.rank.value})
        .bind(2, static_cast<std::int64_t>(theory.category))
        .bind(3, theory.size.count)
        .run();
}

Result<void> RowWriter::addDiagnostic(const Diagnostic& diagnostic) {
    Statement& insert = m_statements[kDiagnostic];
    insert.bind(1, static_cast<std::int64_t>(diagnostic.severity))
        .bind(2, diagnostic.code)
        .bind(3, diagnostic.message)
        .bind(4, diagnostic.remedy)
        .bind(6, diagnostic.time.ns)
        .bind(7, diagnostic.count);
    if (!diagnostic.rank) return insert.bind(5, std::nullopt).run();
    return insert.bind(5, std::int64_t{diagnostic.rank->value}).run();
}

Result<void> RowWriter::finishRun(RunStatus status, Timestamp ended, bool whole) {
    return m_statements[kFinish]
        .bind(1, static_cast<std::int64_t>(status))
        .bind(2, ended.ns)
        .bind(3, std::int64_t{whole ? 1 : 0})
        .run();
}

}  // namespace shardscope::storage

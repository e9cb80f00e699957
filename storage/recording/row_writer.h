// Inserts the small things of a recording, one function a table. Part of the writer.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/model/recording.h"
#include "storage/sqlite/connection.h"

#include <string>
#include <vector>

namespace shardscope::storage {

class RowWriter {
public:
    /// `connection` must outlive it.
    static Result<RowWriter> create(Connection& connection);

    Result<void> putLibraries(const std::string& librariesJson);
    Result<void> putRun(const RunFacts& run);
    Result<void> addHost(const HostFacts& host);
    Result<void> addLane(const LaneFacts& lane);
    Result<void> putRank(const RankFacts& rank);
    Result<void> putDevice(const DeviceFacts& device);
    Result<void> addStrings(RankId rank, StringId first, const std::vector<std::string>& texts);
    Result<void> addArguments(RankId rank, StringId first, const columns::ArgumentRows& rows);
    Result<void> addStep(const StepFacts& step);
    Result<void> addMetric(const MetricPoint& metric);
    Result<void> addMemoryTheory(const MemoryTheory& theory);
    Result<void> addDiagnostic(const Diagnostic& diagnostic);
    /// Not `whole`: the run ended properly, but its recording lost something on the way.
    Result<void> finishRun(RunStatus status, Timestamp ended, bool whole);

private:
    explicit RowWriter(Connection& connection) : m_connection(&connection) {}

    Connection* m_connection;
    std::vector<Statement> m_statements;  ///< by Insert
};

}  // namespace shardscope::storage

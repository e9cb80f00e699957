// The pyramids of all lanes while recording: fed from chunks, written to their table in turns,
// bounded in memory. Part of the writer.
#pragma once

#include "storage/columns/pyramid.h"
#include "storage/sqlite/connection.h"

#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace shardscope::storage {

class PyramidStore {
public:
    enum class Which { kDue, kAll };

    /// `connection` must outlive it.
    static Result<PyramidStore> create(Connection& connection);

    Result<void> addSpans(RankId rank, LaneId lane, const std::vector<SpanEvent>& events);
    Result<void> addSamples(RankId rank, LaneId lane, const std::vector<CounterEvent>& samples);

    /// kDue: every few seconds or half a million events, what changed. A stored segment says up to
    /// which chunk it reaches, so that readers add what came after.
    Result<void> write(Which which, std::int64_t throughChunk);

    /// Of segments that were not stored since they changed, at most.
    [[nodiscard]] Bytes changedBytes() const;

    /// Takes what started before `time` out of a lane's pyramid, stored segments included.
    Result<void> trim(RankId rank, LaneId lane, Timestamp time, std::int64_t throughChunk);

private:
    template <class Summary>
    using Lanes = std::map<std::pair<RankId, LaneId>, columns::LanePyramid<Summary>>;

    PyramidStore(Connection& connection, Statement insert, Statement remove)
        : m_connection(&connection), m_insert(std::move(insert)), m_remove(std::move(remove)) {}

    template <class Summary>
    columns::LanePyramid<Summary>& pyramidOf(Lanes<Summary>& lanes, RankId rank, LaneId lane);
    template <class Summary>
    Result<void> store(std::pair<RankId, LaneId> lane, std::int64_t throughChunk, int level,
                       std::int64_t segment, const std::vector<Summary>& summaries);
    template <class Summary>
    Result<void> trimLane(Lanes<Summary>& lanes, std::pair<RankId, LaneId> lane, Timestamp time,
                          std::int64_t throughChunk);
    template <class Summary>
    Result<void> writeLanes(Lanes<Summary>& lanes, std::int64_t throughChunk);
    void bound();

    Connection* m_connection;
    Statement m_insert;
    Statement m_remove;
    Lanes<columns::SpanSummary> m_spans;
    Lanes<columns::CounterSummary> m_counters;
    std::size_t m_added = 0;  ///< events since they were last written
    std::chrono::steady_clock::time_point m_written = std::chrono::steady_clock::now();
};

}  // namespace shardscope::storage

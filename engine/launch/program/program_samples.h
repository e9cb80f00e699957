// Resident set and CPU time of all processes of a program together, as counters of one of its
// ranks: held until it is known which.
//
// One thread, the supervisor's.
#pragma once

#include "engine/launch/run_supervisor.h"
#include "storage/model/events.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::launch {

class ProgramSamples {
public:
    explicit ProgramSamples(RunSink& sink) : m_sink(sink) {}

    void add(Timestamp time, Bytes resident, std::int64_t cpuNs);
    /// What there is, and what comes, is this rank's; the first word counts.
    void giveTo(RankId rank);
    /// Hands on what is held, where the rank is known.
    void flush();

    [[nodiscard]] std::optional<RankId> rank() const { return m_rank; }
    /// Too many to be held much longer.
    [[nodiscard]] bool isFull() const;
    /// Handed on so far.
    [[nodiscard]] std::uint64_t count() const { return m_count; }

private:
    RunSink& m_sink;
    std::optional<RankId> m_rank;
    std::vector<CounterEvent> m_held;
    std::uint64_t m_count = 0;
};

}  // namespace shardscope::launch

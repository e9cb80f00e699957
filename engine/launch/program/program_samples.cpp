#include "engine/launch/program/process_log.h"
#include "storage/columns/chunk.h"
#include "storage/model/lanes.h"

#include <algorithm>
#include <span>

namespace shardscope::launch {
namespace {

/// Of a day at two per second.
constexpr std::size_t kMostHeld = 200'000;
/// Each chunk costs a row: a few seconds' samples share one.
constexpr std::size_t kFewest = 20;

LaneFacts laneOf(RankId rank, const FixedLane& lane) {
    return {rank, lane.id, lane.role, lane.name, lane.unit, lane.order};
}

}  // namespace

void ProgramSamples::add(Timestamp time, Bytes resident, std::int64_t cpuNs) {
    m_held.push_back({time, lanes::kProgramResidentSet.id, static_cast<double>(resident.count)});
    m_held.push_back({time, lanes::kProgramCpuTime.id, static_cast<double>(cpuNs)});
    if (m_held.size() >= kFewest) flush();
}

bool ProgramSamples::isFull() const {
    return m_held.size() >= kMostHeld;
}

void ProgramSamples::giveTo(RankId rank) {
    if (m_rank) return;
    m_rank = rank;
    for (const FixedLane& lane : {lanes::kProgramResidentSet, lanes::kProgramCpuTime})
        m_sink.message(rank, run::LaneDeclared{laneOf(rank, lane)});
    flush();
}

void ProgramSamples::flush() {
    if (!m_rank) return;
    for (std::span<const CounterEvent> rest(m_held); !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), std::size_t{columns::kMaxChunkEvents}));
        m_sink.chunk(*m_rank, columns::encodeCounters(*m_rank, some));
        rest = rest.subspan(some.size());
    }
    m_count += m_held.size();
    m_held.clear();
}

}  // namespace shardscope::launch

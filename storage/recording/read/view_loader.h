// Loads what many lanes show at once: reads on this thread, decodes and merges on several.
// Part of the reader; one for each request.
#pragma once

#include "storage/recording/read/lane_plan.h"

#include <unordered_map>
#include <vector>

namespace shardscope::storage {

class ViewLoader {
public:
    /// All must outlive it.
    ViewLoader(Connection& connection, EventSource& events, PyramidSource& pyramid, bool finalised)
        : m_connection(connection), m_events(events), m_pyramid(pyramid), m_finalised(finalised) {}

    Result<std::vector<std::vector<LaneSlice>>> spans(const std::vector<LaneAddress>& lanes,
                                                      const View& view);
    Result<std::vector<std::vector<CounterSlice>>> counters(const std::vector<LaneAddress>& lanes,
                                                            const View& view);

private:
    /// What a batch of lanes needs, decoded.
    struct Loaded {
        LoadedChunks chunks;
        LoadedSegments segments;
        std::unordered_map<std::int64_t, MemoryTally::ByCategory> before;  ///< by memory chunk
    };
    template <class Slice, class PlanLane, class ShowLane>
    Result<std::vector<std::vector<Slice>>> each(const std::vector<LaneAddress>& lanes,
                                                 const View& view, PlanLane plan, ShowLane show);
    Result<Loaded> load(const std::vector<LanePlan>& plans, bool spans,
                        const Generation& generation);
    static std::vector<LaneSlice> showSpans(const LanePlan& plan, const Loaded& loaded,
                                            const View& view);
    static std::vector<CounterSlice> showSamples(const LanePlan& plan, const Loaded& loaded,
                                                 const View& view);

    Connection& m_connection;
    EventSource& m_events;
    PyramidSource& m_pyramid;
    bool m_finalised;
};

}  // namespace shardscope::storage

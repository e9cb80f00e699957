// Collectives of a program's process groups between their issue and their completion.
//
// Sequence: their number within the group, which is the same on all of its ranks, since each must
// call the collectives of a group in the same order; of messages the number of those from one rank
// to another. Start, this rank's arrival: a backend runs as many of a group side by side as it has
// threads for, in the order of their issue; further ones wait until one of them has ended.
// Under one lock: a few hundred per second.
#pragma once

#include "profiler/capture/capture_session.h"
#include "profiler/capture/program_link.h"
#include "profiler/inject/inject_api.h"
#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::inject {

/// All ranks of the group, and no others, have this number for it; 0 of the world.
[[nodiscard]] std::uint32_t groupNumber(std::string_view name);

class CollectiveTable {
public:
    explicit CollectiveTable(capture::CaptureSession& session);

    /// 0: of no known operation. `step`, `phase`: of the caller.
    std::uint64_t issued(const ShardscopeCollective& collective, std::int64_t nowNs,
                         StepIndex step);
    void completed(std::uint64_t number, std::int64_t nowNs);
    /// It failed, or its end will not be known.
    void failed(std::uint64_t number, std::int64_t nowNs);

    /// Of each group that has changed since the last call, or has one open.
    std::vector<capture::CollectiveProgress> progress(std::int64_t nowNs);

private:
    struct Open {
        std::int64_t issuedNs = 0;
        CollectiveEvent event;
        std::uint32_t group = 0;
        bool running = false;
        std::int64_t startNs = 0;
    };
    struct Group {
        std::string name;
        std::uint64_t next = 0;
        std::uint64_t reported = 0;  ///< of `next`
        std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> messages;
        std::deque<std::uint64_t> queue;  ///< issued and not running
        int running = 0;
        int workers = 0;
        LaneId lane;
    };

    Group& groupOf(const ShardscopeCollective& collective, std::uint32_t number)
        SHARDSCOPE_REQUIRES(m_mutex);
    void run(Group& group, std::int64_t nowNs) SHARDSCOPE_REQUIRES(m_mutex);
    void remove(std::uint64_t number, std::int64_t nowNs, bool whole);
    void store(const Open& open, const Group& group);

    capture::CaptureSession& m_session;
    Mutex m_mutex;
    std::uint64_t m_last SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
    std::unordered_map<std::uint64_t, Open> m_open SHARDSCOPE_GUARDED_BY(m_mutex);
    std::map<std::uint32_t, Group> m_groups SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::inject

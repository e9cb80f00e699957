// Lanes of a Chrome trace: one for each process, thread and category of events.
//
// Categories get lanes of their own, because a lane has one role and analyses go by roles: the
// kernels of a stream, its collectives and its copies are three lanes.
#pragma once

#include "storage/interchange/trace_builder.h"
#include "storage/model/events.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace shardscope::interchange::kineto {

// What Kineto's categories are: lanes get their role from here, never from names of events.

struct Category {
    std::string_view name;  ///< today's name
    LaneRole role = LaneRole::kHost;
    bool device = false;  ///< pid is a device, tid a stream
    bool kernel = false;  ///< runs on the device's processors
};

/// Of asynchronous work, which overlaps on lanes by process and category.
inline constexpr Category kAsync{"async", LaneRole::kRange, false, false};
inline constexpr std::string_view kAsyncEnding = ", async";

/// Names of 2021 give today's category. One that is not known is a host lane of its own, and its
/// `name` is `text`.
[[nodiscard]] Category categoryOf(std::string_view text);

class LaneTable {
public:
    LaneTable(TraceBuilder& builder, RankId rank) : m_builder(&builder), m_rank(rank) {}

    /// Process and thread as text, quotes taken off.
    LaneId lane(std::string_view process, std::string_view thread, const Category& category);
    /// Likewise, for what perhaps lies on none.
    LaneId laneIfUsed(std::string_view process, std::string_view thread, const Category& category);
    /// Where flows of a thread lie that bind to nothing, and the thread's number for the builder.
    std::pair<std::uint32_t, LaneId> flows(std::string_view process, std::string_view thread);
    /// `id` tells counters of one name apart; mostly empty.
    LaneId counter(std::string_view process, std::string_view name, std::string_view series,
                   std::string_view id = {});

    void nameProcess(std::string_view process, const std::string& name);
    void nameThread(std::string_view process, std::string_view thread, const std::string& name);
    /// Gives every lane its final name and its thread, now that all are known.
    void finish();

    /// Rows of the lane table for who writes the trace again: [lane, pid, tid, category] as JSON.
    [[nodiscard]] std::string toJson() const;
    /// Likewise of counters: [lane, pid, name, series], and an id where it has one.
    [[nodiscard]] std::string countersToJson() const;

private:
    struct Entry {
        LaneId lane;
        std::string process, thread, category;
        LaneRole role = LaneRole::kHost;
        bool device = false;
    };
    struct Recent {
        std::string process, thread, category;
        LaneRole role = LaneRole::kHost;
        LaneId lane;
    };
    [[nodiscard]] std::string nameOf(const Entry& entry) const;
    [[nodiscard]] std::string titleOf(const std::string& process) const;
    LaneId find(std::string_view process, std::string_view thread, const Category& category,
                bool needed);

    TraceBuilder* m_builder;
    RankId m_rank;
    std::map<LaneSource, Entry> m_entries;
    std::array<Recent, 16> m_recent;
    std::set<std::string> m_hosts;  ///< processes with lanes of their own
    std::map<LaneSource, std::pair<std::uint32_t, LaneId>> m_flows;  ///< by process and thread
    struct Counter {
        LaneId lane;
        std::string process, name, series, id;
    };
    std::map<std::string, Counter, std::less<>> m_counters;
    std::map<std::string, std::string, std::less<>> m_processNames;
    std::map<LaneSource, std::string> m_threadNames;
};

}  // namespace shardscope::interchange::kineto

// Lanes of an export's events: one for each stream and kind of work, each thread and kind of
// call, each thread and NVTX domain. A lane has one role, so that analyses need no names.
#pragma once

#include "storage/interchange/nsys/survey.h"
#include "storage/interchange/nsys/table_specs.h"
#include "storage/interchange/trace_builder.h"

#include <array>
#include <functional>
#include <map>
#include <string>

namespace shardscope::interchange::nsys {

class Lanes {
public:
    Lanes(TraceBuilder& builder, const Survey& survey) : m_builder(&builder), m_survey(&survey) {}

    /// Kernels of collectives have lanes of their own.
    LaneId stream(const ProcessRanks::Entry& owner, Activity activity, bool collective,
                  std::int64_t device, std::int64_t context, std::int64_t stream);
    LaneId thread(const ProcessRanks::Entry& owner, Activity activity, std::int64_t thread);
    /// Lanes of NVTX_EVENTS by eventType. Ranges that began and ended by id may overlap: apart
    /// from those of push and pop. Marks are instants, which no lane of spans holds.
    LaneId nvtx(const ProcessRanks::Entry& owner, std::int64_t thread, std::int64_t domain,
                std::int64_t type);
    LaneId counter(RankId rank, const std::string& name, const std::string& unit);

    /// [lane, process, thread, category] of a rank's lanes, as read_kineto.cpp writes them; for
    /// lanes of a device the process is the device and the thread the stream.
    [[nodiscard]] std::string toJson(RankId rank) const;
    /// [domain, "name"] of NVTX domains with lanes.
    [[nodiscard]] std::string domainsJson(const ProcessRanks::Entry& owner) const;
    /// [thread, "name"] of threads with lanes.
    [[nodiscard]] std::string threadsJson(const ProcessRanks::Entry& owner) const;

private:
    /// What tells lanes apart; the numbers are thread and domain, or device, context and stream.
    struct Key {
        RankId rank = {};
        std::string_view category = {};  ///< a constant of table_specs.cpp or lanes.cpp
        std::int64_t a = 0, b = 0, c = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Lane {
        LaneId id;
        std::string process, thread;
    };
    LaneId find(const Key& key, LaneRole role, const std::function<std::string()>& name,
                const std::string& process, const std::string& thread);
    [[nodiscard]] const Lane* known(const Key& key);
    [[nodiscard]] std::string threadName(const ProcessRanks::Entry& owner,
                                         std::int64_t thread) const;
    [[nodiscard]] std::int64_t shared(const Key& key, std::int64_t thread) const;

    TraceBuilder* m_builder;
    const Survey* m_survey;
    std::map<Key, Lane> m_lanes;
    struct Recent {
        Key key;
        const Lane* lane = nullptr;
    };
    std::array<Recent, 8> m_recent;
    std::map<std::pair<RankId, std::int64_t>, std::int64_t> m_contexts;  ///< first of a device
    std::map<RankId, std::size_t> m_count;
    std::map<std::pair<RankId, std::string>, LaneId> m_counters;
};

}  // namespace shardscope::interchange::nsys

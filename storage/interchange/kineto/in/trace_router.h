// Events of one trace to the mappers of its ranks (rank_layout.h), and the events whose time is
// lost: far from all others, as tracers leave them at 0.
#pragma once

#include "storage/interchange/import.h"
#include "storage/interchange/kineto/in/rank_layout.h"
#include "storage/interchange/kineto/in/trace_mapper.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <string_view>

namespace shardscope::interchange::kineto {

/// What the start of a file tells.
struct TraceStart {
    RankLayout layout;
    std::int64_t firstNs = 0;  ///< earliest time of an event that is not a stray; 0 without any
};
/// `window`: the first one. `known`: the layout found by having read the file before, or null.
[[nodiscard]] TraceStart startOf(std::string_view window, const RankLayout* known, bool statesRank,
                                 std::int64_t worldSize);

class TraceRouter {
public:
    struct Setting {
        RankId rank;
        std::int64_t shiftNs = 0;  ///< builder's time = time in the trace + this
        std::int64_t firstNs = 0;  ///< TraceStart
        /// The file says that it has no devices: its kernels ran on the host, whose memory is
        /// theirs.
        bool withoutDevices = false;
        std::optional<std::int32_t> firstStep{};  ///< OptimizerSteps
    };
    TraceRouter(TraceBuilder& builder, ImportAccount& account, const Setting& setting,
                RankLayout layout);

    /// Takes the correlation out of the event's members.
    void add(Event& event);
    /// Adds what was held back, and names the lanes.
    void finish();

    /// By place; the first is the file's own rank.
    [[nodiscard]] const std::deque<TraceMapper>& mappers() const { return m_mappers; }
    [[nodiscard]] const RankLayout& layout() const { return m_layout; }
    /// The layout that all of the file has, after finish(), and with what its end says of its rank.
    [[nodiscard]] RankLayout found(bool statesRank, std::int64_t worldSize) const;
    /// What was built with this router's layout is wrong.
    [[nodiscard]] bool isMisread(const RankLayout& found) const;
    [[nodiscard]] Timestamp ended() const;

private:
    [[nodiscard]] RankId rankAt(std::uint32_t place) const;
    [[nodiscard]] std::uint32_t placeOf(const Event& event, const Category& category) const;
    [[nodiscard]] std::uint32_t placeOfMemory(const Event& event) const;
    [[nodiscard]] bool isStray(const Event& event);

    ImportAccount* m_account;
    Setting m_setting;
    RankLayout m_layout;
    LayoutSurvey m_survey;
    DeviceRows m_rows;
    std::deque<TraceMapper> m_mappers;
    std::uint64_t m_timed = 0, m_strays = 0;
    std::int64_t m_latestNs = std::numeric_limits<std::int64_t>::min();
};

}  // namespace shardscope::interchange::kineto

// A rank that Kineto did not write, on its way out: its processes, clock and texts, for every part
// of the walk (recorded_walk.cpp).
#pragma once

#include "storage/interchange/event_text.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/kineto/out/trace_events.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::interchange::kineto_out {

// Arguments of events that Kineto did not write, under Kineto's names.

/// Builds the members of one event's arguments; start with begin(). A key that is there already
/// stays as it is.
class RecordedArguments {
public:
    void begin(std::string_view object);
    /// The text of one of the event's own arguments; empty: it has none.
    [[nodiscard]] std::string own(std::string_view key) const;
    [[nodiscard]] std::optional<std::int64_t> ownInteger(std::string_view key) const;

    /// Its own arguments. Of a CPU event none may be called `stream`: HTA takes it for a device's.
    void addOwn(bool device);
    /// Step, layer and phase.
    void addPlace(const SpanEvent& span);
    void add(std::string_view key, std::int64_t value);
    void add(std::string_view key, std::string_view value);
    void addNumber(std::string_view key, double value);

    [[nodiscard]] std::string_view members() const { return m_members; }

private:
    [[nodiscard]] bool key(std::string_view key);
    ArgumentCheck m_check;
    std::string m_object;
    std::vector<Member> m_own;
    std::string m_members;
    std::vector<std::pair<std::size_t, std::size_t>> m_keys;  ///< place and length in m_members
};

/// Of a collective's kernel and of its record_param_comms.
struct GroupFacts {
    std::int32_t worldSize = 0;
    std::int32_t rank = 0;
};
void addCollective(RecordedArguments& arguments, const CollectiveEvent& collective,
                   const GroupFacts& group);

// Rows of a trace that is made up from lanes: which pid and tid they have, and their names.

/// Of what one lane holds: one more for each that would overlap.
struct Rows {
    std::string pid;
    std::int64_t last = 0;  ///< tid of the last row
    std::string name;
    std::deque<TraceRow> rows;
};

class RowTable {
public:
    /// Names go to `sink` as metadata events, before the first event of their row.
    explicit RowTable(TraceEventSink& sink) : m_sink(&sink) {}

    void nameProcess(const std::string& pid, const std::string& name, const std::string& label,
                     std::int64_t order);
    /// With the first number from `tid` on that is free in the process.
    [[nodiscard]] Rows of(const std::string& pid, std::int64_t tid, const std::string& name);
    /// Valid as long as `rows`.
    const TraceRow& row(Rows& rows, std::size_t index);

private:
    void metadata(const TraceRow& row, const char* name, const std::string& arguments);
    [[nodiscard]] std::int64_t freeFrom(const std::string& pid, std::int64_t tid);

    TraceEventSink* m_sink;
    std::set<std::pair<std::string, std::int64_t>> m_used;
};

/// Streams of the device that stands for a rank without one.
constexpr std::int64_t kComputeStream = 0, kCollectiveStream = 1;

struct RecordedRank {
    RecordedRank(ExportScope& exported, const WalkSetting& setting, TraceEventSink& events);

    ExportScope& scope;
    TraceEventSink& sink;
    RankId rank;
    std::int64_t clockNs;
    std::vector<LaneFacts> lanes;
    bool device = false;  ///< the rank has one that was traced
    std::string hostPid, devicePid;
    std::int64_t deviceId = 0;

    [[nodiscard]] std::int64_t at(Timestamp time) const { return time.ns + clockNs; }
    [[nodiscard]] std::string_view text(StringId id) const { return scope.reader().text(rank, id); }
    void nameProcesses(RowTable& rows) const;
    /// Where a kernel ran: as its own arguments say, where they do.
    void addDevice(RecordedArguments& arguments, std::int64_t stream) const;
    /// An end of the arrow `id` from a call to its kernel, at `of`.
    void flow(char phase, const TraceEvent& of, std::uint64_t id) const;

private:
    void choosePids();
};

}  // namespace shardscope::interchange::kineto_out

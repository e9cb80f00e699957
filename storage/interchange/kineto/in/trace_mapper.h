// Turns events of one Kineto trace into what a recording holds.
//
// What goes where: X to spans, on lanes by category; `correlation` to the span's correlation (it is
// taken out of the arguments of device events and their calls and stands there for who writes the
// trace again), all other arguments as they stand. Kernels without one get a number from
// kNoCorrelation up. i to spans of no length on lanes of their own, by scope; [memory] to memory
// events; C to counters; B and E to spans. s, t and f to flows, bound to spans of their thread
// wherever in the file those stand; the operator that one of category fwdbwd begins with gets its
// id as correlation, and says forward or backward. Names of steps (StepNaming) mark those. M names
// lanes, and is kept for who writes the trace again.
#pragma once

#include "storage/interchange/import.h"
#include "storage/interchange/kineto/in/collective_join.h"
#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/lane_table.h"

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange::kineto {

/// Correlations from here on are the importer's, not the trace's.
inline constexpr std::uint64_t kNoCorrelation = std::uint64_t{1} << 62;

class TraceMapper {
public:
    struct Setting {
        RankId rank;
        std::int64_t shiftNs = 0;  ///< builder's time = time in the trace + this
        std::int64_t worldSize = 0;
    };
    TraceMapper(TraceBuilder& builder, ImportAccount& account, const Setting& setting);

    /// Takes the correlation out of the event's members.
    void add(Event& event);
    /// Adds what was held back, and names the lanes.
    void finish();

    [[nodiscard]] Timestamp ended() const { return m_ended; }
    /// Process of the first host event, and of the first device event; empty: none.
    [[nodiscard]] const std::string& hostProcess() const { return m_hostProcess; }
    [[nodiscard]] const std::string& device() const { return m_device; }
    [[nodiscard]] const LaneTable& lanes() const { return m_lanes; }
    /// M events as they stand, comma-separated, each once; the first megabyte of them.
    [[nodiscard]] std::string metadataEvents() const;
    [[nodiscard]] const CollectiveJoin& collectives() const { return m_collectives; }

private:
    struct Open {
        SpanEvent span;
        std::string name;
        SplitArguments arguments;
        bool host = false;  ///< and no call: may mark a step
    };

    /// Bytes of a device before its earliest event.
    struct Alive {
        Timestamp time;
        std::int64_t bytes = 0;
    };

    void addComplete(Event& event);
    void addInstant(Event& event);
    void addFlow(const Event& event);
    void addMetadata(const Event& event);
    [[nodiscard]] bool keepMetadata(const Event& event);
    void addCounter(const Event& event);
    void addBegin(Event& event);
    void addEnd(const Event& event);
    void addMemory(const Event& event, Timestamp time);
    void noteAlive(const std::string& device, std::int64_t before, Timestamp time);
    void addBlocksBefore();

    std::optional<Timestamp> timeOf(const Event& event);
    std::optional<std::int64_t> nanoseconds(std::string_view value);
    std::optional<SpanEvent> spanOf(Event& event, const Category& category);
    std::uint64_t splitArguments(Event& event, bool correlates);
    void addSpan(const SpanEvent& span);
    void noteSpan(const Event& event, const Category& category, const SpanEvent& span,
                  std::string_view name);
    void noteStep(std::string_view name, const SpanEvent& span);
    void keep() { ++m_account->kept; }
    void reject(const char* reason) { m_account->reject(reason); }

    TraceBuilder* m_builder;
    ImportAccount* m_account;
    Setting m_setting;
    LaneTable m_lanes;
    CollectiveJoin m_collectives;
    std::map<std::string, std::vector<Open>, std::less<>> m_open;
    std::size_t m_openCount = 0;
    std::map<std::string, Alive> m_alive;  ///< by device
    std::uint64_t m_uncorrelated = 0;
    Timestamp m_ended;
    std::string m_hostProcess;
    std::string m_device;
    std::string m_scratch;
    std::string m_nameScratch;
    SplitArguments m_split;  ///< arguments of the event at hand
    /// Profilers that are started again and again repeat them all: each stands once, where it came
    /// last, because later names replace earlier ones.
    std::list<std::string> m_metadata;
    std::unordered_map<std::string_view, std::list<std::string>::iterator> m_metadataPlaces;
    std::size_t m_metadataBytes = 0;
    bool m_repaired = false;
};

}  // namespace shardscope::interchange::kineto

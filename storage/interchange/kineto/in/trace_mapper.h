// Turns events of one Kineto trace into what a recording holds.
//
// What goes where: X to spans, on lanes by category; `correlation` to the span's correlation (it is
// taken out of the arguments of device events and their calls and stands there for who writes the
// trace again), all other arguments as they stand. Kernels without one get a number from
// kNoCorrelation up. i to spans of no length on lanes of their own, by scope; [memory] to memory
// events, but those of the host of a rank with a device to instants and samples; C to counters; B
// and E to spans, with the arguments of both. s, t and f to flows, bound to spans of their thread
// wherever in the file those stand; the operator that one of category fwdbwd begins with gets its
// id as correlation, and says forward or backward. Names of steps (StepNaming) mark those. M names
// lanes, and is kept for who writes the trace again. One mapper a rank (trace_router.h).
#pragma once

#include "storage/interchange/collective_kernels.h"
#include "storage/interchange/import.h"
#include "storage/interchange/kineto/in/collective_join.h"
#include "storage/interchange/kineto/in/device_rows.h"
#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/event_pairs.h"
#include "storage/interchange/kineto/in/lane_table.h"

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange::kineto {

/// Correlations from here on are the importer's, not the trace's.
inline constexpr std::uint64_t kNoCorrelation = std::uint64_t{1} << 62;

/// Instants "[memory]" of one rank: memory events, and samples of what is allocated and reserved.
/// Where the rank has a device of its own, blocks of the host are none of its memory: their sums
/// are samples, and the instants stay what they are. In memory_mapper.cpp.
class MemoryMapper {
public:
    MemoryMapper(TraceBuilder& builder, LaneTable& lanes, RankId rank, bool hostMemory)
        : m_builder(&builder), m_lanes(&lanes), m_rank(rank), m_takesHost(hostMemory) {}

    /// Whether the event is the rank's memory; samples are added of others too.
    [[nodiscard]] bool takes(const Event& event) const;
    /// Why it cannot be kept; null: it is kept.
    [[nodiscard]] const char* add(const Event& event, Timestamp time);
    void addSamples(const Event& event, Timestamp time);
    /// Adds what was alive before the first event of each device.
    void finish();

    /// Some memory of the host was taken for the rank's, since it has no device.
    [[nodiscard]] bool hasHostMemory() const { return m_hostMemory; }

private:
    struct Held {
        Timestamp time;
        std::int64_t bytes = 0;
    };
    /// What a device holds before its earliest event, and behind the latest.
    struct Alive {
        Held first, last;
    };
    void noteTotal(const std::string& device, std::int64_t before, std::int64_t after,
                   Timestamp time);

    TraceBuilder* m_builder;
    LaneTable* m_lanes;
    RankId m_rank;
    bool m_takesHost;
    bool m_hostMemory = false;
    std::map<std::string, Alive> m_alive;  ///< by device
};

/// Steps of a trace that names none: from the end of one run of the optimizer to that of the next.
/// Of several optimizers the first one counts.
class OptimizerSteps {
public:
    void note(std::string_view name, TimeRange range);
    /// `first`: number of the first step, which begins where the first run in the trace ends.
    void mark(TraceBuilder& builder, const std::vector<RankId>& ranks, std::int32_t first) const;

private:
    static constexpr std::size_t kMostNames = 64, kMostRuns = 100'000;
    std::map<std::string, std::vector<TimeRange>, std::less<>> m_runs;  ///< by optimizer
};

class TraceMapper {
public:
    struct Setting {
        RankId rank;
        std::int64_t shiftNs = 0;  ///< builder's time = time in the trace + this
        std::int64_t worldSize = 0;
        const DeviceRows* rows = nullptr;  ///< outlive the mapper
        bool sortsPairs = false;           ///< EventPairs
        std::string device{};              ///< pid of its device's rows; empty: none
        bool hostMemory = true;            ///< memory of the host is the rank's
        /// Other devices of its process: its calls launch their work, its steps are theirs.
        std::vector<RankId> sameProcess{};
        /// Of its process; null: its own.
        std::shared_ptr<CollectiveJoin::Operations> operations{};
        std::optional<std::int32_t> firstStep{};  ///< OptimizerSteps
    };
    TraceMapper(TraceBuilder& builder, ImportAccount& account, const Setting& setting);
    TraceMapper(const TraceMapper&) = delete;
    TraceMapper& operator=(const TraceMapper&) = delete;

    /// `category` of a span. Takes the correlation out of the event's members.
    void add(Event& event, const Category& category);
    /// A name of a row of another rank of the file; it is counted there.
    void nameRow(const Event& event);
    /// Adds what was held back, and names the lanes.
    void finish();

    [[nodiscard]] Timestamp ended() const { return m_ended; }
    /// Process of the first host event, and of the first device event; empty: none.
    [[nodiscard]] const std::string& hostProcess() const { return m_hostProcess; }
    [[nodiscard]] const std::string& device() const { return m_device; }
    [[nodiscard]] RankId rank() const { return m_setting.rank; }
    [[nodiscard]] const LaneTable& lanes() const { return m_lanes; }
    [[nodiscard]] const std::shared_ptr<CollectiveJoin::Operations>& operations() const {
        return m_setting.operations;
    }
    /// Begins and ends were paired as they came, and came in another order.
    [[nodiscard]] bool hasDisorder() const { return m_pairs.disordered(); }
    /// Some memory of the host was taken for the rank's, since it has no device.
    [[nodiscard]] bool hasHostMemory() const { return m_memory.hasHostMemory(); }
    /// M events as they stand, comma-separated, each once; the first megabyte of them.
    [[nodiscard]] std::string metadataEvents() const;
    [[nodiscard]] const CollectiveJoin& collectives() const { return m_collectives; }

private:
    void addComplete(Event& event, const Category& category);
    void addInstant(Event& event);
    void addFlow(const Event& event);
    void addMetadata(const Event& event);
    void nameLanes(const Event& event);
    [[nodiscard]] bool keepMetadata(const Event& event);
    void addCounter(const Event& event);
    void addPair(const EventPairs::Part& begin, const EventPairs::Part& end);
    void addMemory(const Event& event, Timestamp time);

    std::optional<Timestamp> timeOf(const Event& event);
    std::optional<std::int64_t> nanoseconds(std::string_view value);
    std::optional<SpanEvent> spanOf(Event& event, const Category& category, std::string_view name);
    std::uint64_t splitArguments(Event& event, bool correlates);
    void addSpan(const SpanEvent& span, const Category& category);
    void noteSpan(const Event& event, const Category& category, const SpanEvent& span,
                  std::string_view name);
    void noteRepair();
    [[nodiscard]] Category withRole(Category category, const Event& event, std::string_view name);
    void keep() { ++m_account->kept; }
    void reject(const char* reason) { m_account->reject(reason); }

    TraceBuilder* m_builder;
    ImportAccount* m_account;
    Setting m_setting;
    LaneTable m_lanes;
    CollectiveJoin m_collectives;
    CollectiveNames m_collectiveNames;
    MemoryMapper m_memory;
    EventPairs m_pairs;
    OptimizerSteps m_optimizerSteps;
    std::uint64_t m_uncorrelated = 0;
    Timestamp m_ended;
    std::string m_hostProcess;
    std::string m_device;
    std::string m_scratch;
    std::string m_nameScratch;
    SplitArguments m_split;  ///< arguments of the event at hand
    Event m_part;            ///< a begin or an end
    /// Profilers that are started again and again repeat them all: each stands once, where it came
    /// last, because later names replace earlier ones.
    std::list<std::string> m_metadata;
    std::unordered_map<std::string_view, std::list<std::string>::iterator> m_metadataPlaces;
    std::size_t m_metadataBytes = 0;
    bool m_repaired = false;
};

}  // namespace shardscope::interchange::kineto

#include "profiler/questions/memory_tables.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/memory/reserved_memory.h"
#include "profiler/questions/answer/cells.h"
#include "storage/model/allocator_lanes.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::MemoryHolder;
using analysis::MemoryPlace;
using analysis::PeakHolders;
using analysis::PhaseMemory;

constexpr const char* kUnexplained = "unexplained";

Cell bytesCell(Bytes bytes) {
    return bytes.count;
}

using analysis::CounterChanges;
using analysis::FreeBlocks;
using analysis::RankMemory;
using analysis::ReservedMemory;
using Json = nlohmann::json;
using Samples = std::vector<CounterEvent>;

/// Larger ones are none.
constexpr std::int64_t kMostBlock = std::int64_t{1} << 48;

/// From the beginning of time: what is in force counts, whenever it began.
TimeRange upToEnd(const Asked& asked, RankId rank) {
    return {kBeginningOfTime, asked.selection.timeOf(asked.summary, rank).end};
}

/// Null: the rank has none.
template <class Wanted>
const LaneFacts* findLane(const RecordingSummary& summary, RankId rank, Wanted wanted) {
    for (const LaneFacts& lane : summary.lanes)
        if (lane.rank == rank && wanted(lane)) return &lane;
    return nullptr;
}

const LaneFacts* findNamed(const RecordingSummary& summary, RankId rank, std::string_view name) {
    return findLane(summary, rank, [&](const LaneFacts& lane) { return lane.name == name; });
}

Result<Samples> readAllocated(const Asked& asked, const LaneFacts& reserved) {
    const TimeRange time = upToEnd(asked, reserved.rank);
    const std::string name = allocatedLaneOf(reserved.name);
    if (const LaneFacts* lane = findNamed(asked.summary, reserved.rank, name);
        lane != nullptr && !name.empty())
        return asked.reader.samples(lane->rank, lane->lane, time);
    const auto events = asked.reader.memoryEvents(reserved.rank, time);
    if (!events) return failure(events);
    return analysis::allocatedSamples(*events);
}

/// From the first steady step to the last; all of it where there are none.
TimeRange steadyRange(const Asked& asked, RankId rank) {
    const auto steady = analysis::steadySteps(asked.summary, {});
    if (steady.steps.empty()) return asked.selection.timeOf(asked.summary, rank);
    TimeRange range = steady.steps.begin()->second.range;
    for (const auto& [index, step] : steady.steps) {
        range.begin = std::min(range.begin, step.range.begin);
        range.end = std::max(range.end, step.range.end);
    }
    return range;
}

/// Blocks of a memory snapshot's segments that are free at its end.
Result<std::optional<FreeBlocks>> readFreeBlocks(const Asked& asked, RankId rank) {
    std::optional<FreeBlocks> blocks;
    const LaneFacts* lane = findNamed(asked.summary, rank, kSnapshotSegments);
    if (lane == nullptr) return blocks;
    const Timestamp end{asked.summary.bounds.end.ns + 1};
    const auto instants = asked.reader.instants(rank, lane->lane, {kBeginningOfTime, end});
    if (!instants) return failure(instants);
    std::vector<Bytes> sizes;
    for (const InstantEvent& instant : *instants) {
        if (asked.reader.text(rank, instant.name) != "block") continue;
        const Json block = Json::parse(asked.reader.text(rank, instant.arguments), nullptr, false);
        if (!block.is_object() || !block.contains("size") || !block["size"].is_number_integer())
            continue;
        const auto size = block["size"].get<std::int64_t>();
        if (block.value("state", Json()) == "inactive" && size <= kMostBlock)
            sizes.push_back({size});
    }
    blocks = analysis::freeBlocks(sizes);
    return blocks;
}

/// How often libraries took memory past the allocator, and gave it back.
Result<std::optional<std::int64_t>> readDriverCalls(const Asked& asked, RankId rank) {
    std::optional<std::int64_t> calls;
    const LaneFacts* lane = findNamed(asked.summary, rank, lanes::kDriverAllocations.name);
    if (lane == nullptr) return calls;
    const auto samples = asked.reader.samples(rank, lane->lane, upToEnd(asked, rank));
    if (!samples) return failure(samples);
    const CounterChanges changes = analysis::changesOf(*samples, steadyRange(asked, rank));
    calls = changes.grew + changes.shrank;
    return calls;
}

Table allocatorTable() {
    return {"allocator",
            "What allocators held beyond what was allocated",
            {{"rank", "rank"},
             {"pool", "pool", Unit::kNone, "The counter of what is reserved."},
             {"reserved_bytes", "reserved", Unit::kBytes, "At most."},
             {"reserved_at_peak_bytes", "at peak", Unit::kBytes,
              "Reserved at the last sample up to the peak of what is alive."},
             {"slack_bytes", "slack", Unit::kBytes, "Reserved - allocated, at most."},
             {"slack_pct", "slack", Unit::kPercent, "Of what was reserved then."},
             {"slack_time_ns", "at", Unit::kNanoseconds, "On the recording's clock."},
             {"grew", "grew", Unit::kCount,
              "Times that reserved grew between samples from the first steady step to the last."},
             {"shrank", "shrank", Unit::kCount, "Times that it shrank."},
             {"driver_changes", "past it", Unit::kCount,
              "Changes of what libraries took from the driver, in these steps."},
             {"free_blocks", "free blocks", Unit::kCount, "In segments, at the end."},
             {"largest_free_bytes", "largest free", Unit::kBytes, "Of these."},
             {"fragmentation_pct", "fragmentation", Unit::kPercent,
              "1 - largest free block / all free blocks."}},
            {}};
}

struct PoolFacts {
    ReservedMemory memory;
    CounterChanges changes;
    std::optional<FreeBlocks> free;
    std::optional<std::int64_t> driver;
};

std::vector<Cell> rowOf(const LaneFacts& lane, const PoolFacts& pool) {
    const auto bytes = [](std::optional<Bytes> size) { return size ? Cell(size->count) : Cell(); };
    const bool idle = pool.memory.slack.count > 0;
    const bool free = pool.free && pool.free->blocks > 0;
    return {std::int64_t{lane.rank.value},
            lane.name,
            pool.memory.most.count,
            bytes(pool.memory.atPeak),
            pool.memory.slack.count,
            percent(pool.memory.slackShare()),
            idle ? Cell(pool.memory.slackTime.ns) : Cell(),
            pool.changes.grew,
            pool.changes.shrank,
            pool.driver ? Cell(*pool.driver) : Cell(),
            pool.free ? Cell(pool.free->blocks) : Cell(),
            free ? Cell(pool.free->largest.count) : Cell(),
            free ? percent(pool.free->fragmentation()) : Cell()};
}

/// Nothing: the counter has no samples.
Result<std::optional<PoolFacts>> readPool(const Asked& asked, const LaneFacts& lane,
                                          const RankMemory& rank) {
    std::optional<PoolFacts> pool;
    const auto reserved = asked.reader.samples(lane.rank, lane.lane, upToEnd(asked, lane.rank));
    if (!reserved) return failure(reserved);
    const auto allocated = readAllocated(asked, lane);
    if (!allocated) return failure(allocated);
    const auto memory = analysis::reservedMemory(*reserved, *allocated, rank.peakTime);
    if (!memory) return pool;
    const auto free = readFreeBlocks(asked, lane.rank);
    if (!free) return failure(free);
    const auto driver = readDriverCalls(asked, lane.rank);
    if (!driver) return failure(driver);
    pool = PoolFacts{*memory, analysis::changesOf(*reserved, steadyRange(asked, lane.rank)), *free,
                     *driver};
    return pool;
}

}  // namespace

Result<PeakHolders> readHolders(storage::RecordingReader& reader,
                                const analysis::RankMemory& rank) {
    const auto blocks = reader.liveMemory(rank.rank, rank.peakTime);
    if (!blocks) return failure(blocks);
    return analysis::peakHolders(*blocks, rank.peak,
                                 [&](StringId id) { return reader.text(rank.rank, id); });
}

Table holderTable(const PeakHolders& peak) {
    Table table{"owners",
                "Alive at the highest peak, by owner",
                {{"owner", "owner", Unit::kNone,
                  "Operator or buffer. Unexplained: of the peak, what no block is known of."},
                 {"category", "category"},
                 {"layer", "layer"},
                 {"phase", "phase", Unit::kNone, "In which it was allocated."},
                 {"blocks", "blocks", Unit::kCount, "Alive at the peak."},
                 {"bytes", "size", Unit::kBytes, "All rows add up to the peak."}},
                {}};
    for (const MemoryHolder& holder : peak.holders)
        table.rows.push_back({holder.owner.empty() ? "not named" : holder.owner,
                              toWord(holder.category), layerCell(holder.layer),
                              toWord(holder.phase), holder.blocks, holder.bytes.count});
    if (peak.unexplained.count != 0)
        table.rows.push_back(
            {kUnexplained, Cell(), Cell(), Cell(), Cell(), bytesCell(peak.unexplained)});
    return table;
}

Table phaseTable(const std::vector<PhaseMemory>& phases) {
    Table table{"phases",
                "Of the same rank over all its steps, by phase and layer",
                {{"phase", "phase"},
                 {"layer", "layer"},
                 {"peak_bytes", "peak", Unit::kBytes,
                  "The most that was alive right after an allocation of the phase in the layer."},
                 {"step", "step", Unit::kNone, "In which that was."}},
                {}};
    for (const PhaseMemory& each : phases)
        table.rows.push_back(
            {toWord(each.phase), layerCell(each.layer), each.peak.count, stepCell(each.step)});
    return table;
}

Table placeTable(const PeakHolders& first, const PeakHolders& second) {
    Table table{"memory",
                "Memory at the peak, of the rank that needs most, by what makes the difference",
                {{"category", "category"},
                 {"layer", "layer"},
                 {"first_bytes", "first", Unit::kBytes},
                 {"second_bytes", "second", Unit::kBytes},
                 {"difference_bytes", "difference", Unit::kSignedBytes, "Second - first."}},
                {}};
    std::map<MemoryPlace, std::pair<Bytes, Bytes>> places;
    for (const auto& [place, bytes] : analysis::byPlace(first.holders)) places[place].first = bytes;
    for (const auto& [place, bytes] : analysis::byPlace(second.holders))
        places[place].second = bytes;
    const auto add = [&](Cell category, Cell layer, Bytes a, Bytes b) {
        table.rows.push_back(
            {std::move(category), std::move(layer), bytesCell(a), bytesCell(b), bytesCell(b - a)});
    };
    for (const auto& [place, bytes] : places)
        add(toWord(place.first), layerCell(place.second), bytes.first, bytes.second);
    if (first.unexplained.count != 0 || second.unexplained.count != 0)
        add(kUnexplained, Cell(), first.unexplained, second.unexplained);
    const std::size_t difference = table.columnAt("difference_bytes");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return std::abs(numberOf(a[difference])) > std::abs(numberOf(b[difference]));
    });
    return table;
}

Result<void> addAllocators(const Asked& asked, const std::vector<RankMemory>& ranks,
                           Answer& answer) {
    Table table = allocatorTable();
    std::string without;
    for (const RankMemory& rank : ranks) {
        const std::size_t before = table.rows.size();
        for (const LaneFacts& lane : asked.summary.lanes) {
            if (lane.rank != rank.rank || lane.role != LaneRole::kCounter ||
                !isReservedLane(lane.name))
                continue;
            const auto pool = readPool(asked, lane, rank);
            if (!pool) return failure(pool);
            if (!*pool) continue;
            table.rows.push_back(rowOf(lane, **pool));
            const CounterChanges& changes = (*pool)->changes;
            if (changes.grew > 0 && changes.shrank > 0)
                answer.sentences.push_back(fmt::format(
                    "The allocator of rank {} gave memory back {} times and took more {} times "
                    "between the first steady step and the last: it does so when it runs out of "
                    "room, and each time a call waits for the device.",
                    rank.rank.value, changes.shrank, changes.grew));
        }
        if (table.rows.size() == before)
            without += fmt::format("{}{}", without.empty() ? "" : ", ", rank.rank.value);
    }
    if (!without.empty())
        answer.unknown.push_back(
            "fragmentation and the allocator's retries unknown: reserved memory was not "
            "recorded for rank " +
            without);
    if (!table.rows.empty()) answer.tables.push_back(std::move(table));
    return {};
}

Table parameterTable(const RecordingSummary& summary) {
    Table table{"parameters",
                "Parameters by rank",
                {{"rank", "rank"},
                 {"parameters", "parameters", Unit::kCount,
                  "Each once, whether tied or shared out over ranks."},
                 {"whole_bytes", "whole", Unit::kBytes},
                 {"rank_bytes", "on the rank", Unit::kBytes,
                  "Its shards, without the padding behind them."}},
                {}};
    constexpr std::array<std::string_view, 3> kFacts{"parameters", "parameter_bytes",
                                                     "parameter_bytes_of_rank"};
    std::map<std::int32_t, std::array<Cell, kFacts.size()>> byRank;
    for (const FactRow& row : summary.facts) {
        const auto* fact = std::find(kFacts.begin(), kFacts.end(), row.name);
        std::int64_t number = 0;
        const char* end = row.value.data() + row.value.size();
        if (fact == kFacts.end() || std::from_chars(row.value.data(), end, number).ptr != end)
            continue;
        byRank[row.rank][static_cast<std::size_t>(fact - kFacts.begin())] = number;
    }
    for (const auto& [rank, cells] : byRank)
        table.rows.push_back({std::int64_t{rank}, cells[0], cells[1], cells[2]});
    return table;
}

}  // namespace shardscope::questions

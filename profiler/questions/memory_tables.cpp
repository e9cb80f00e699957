#include "profiler/questions/memory_tables.h"

#include "profiler/questions/cells.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
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

}  // namespace

Result<PeakHolders> readHolders(storage::RecordingReader& reader,
                                const analysis::RankMemory& rank) {
    const auto blocks = reader.liveMemory(rank.rank, rank.peakTime);
    if (!blocks) return failure(blocks);
    return analysis::peakHolders(*blocks, rank.peak,
                                 [&](StringId id) { return reader.text(rank.rank, id); });
}

Table holderTable(const PeakHolders& told) {
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
    for (const MemoryHolder& holder : told.holders)
        table.rows.push_back({holder.owner.empty() ? "not named" : holder.owner,
                              toWord(holder.category), layerCell(holder.layer),
                              toWord(holder.phase), holder.blocks, holder.bytes.count});
    if (told.unexplained.count != 0)
        table.rows.push_back(
            {kUnexplained, Cell(), Cell(), Cell(), Cell(), bytesCell(told.unexplained)});
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
                 {"first_bytes", "first", Unit::kSignedBytes},
                 {"second_bytes", "second", Unit::kSignedBytes},
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

}  // namespace shardscope::questions

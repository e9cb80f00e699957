#include "app/cli/report_many.h"

#include "app/cli/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace shardscope::cli {
namespace {

using analysis::at;
using analysis::LedgerPart;

struct RankSum {
    RankId rank;
    Duration wall;
    analysis::LedgerParts parts{};

    /// Without computing: blocked in collectives, or waiting for others.
    [[nodiscard]] Duration held() const { return analysis::blockedIn(parts); }
};

std::vector<RankSum> sumsOf(const analysis::Report& report) {
    std::map<RankId, RankSum> sums;
    for (const analysis::LedgerRow& row : report.ledger) {
        RankSum& sum = sums[row.rank];
        sum.rank = row.rank;
        sum.wall += row.wall;
        for (std::size_t part = 0; part < sum.parts.size(); ++part)
            sum.parts[part] += row.parts[part];
    }
    std::vector<RankSum> all;
    for (const auto& [rank, sum] : sums) all.push_back(sum);
    return all;
}

/// The first kWorstRanks by `value`, largest first.
template <class Item, class Value>
std::vector<Item> worst(std::vector<Item> all, Value value) {
    std::stable_sort(all.begin(), all.end(),
                     [&](const Item& a, const Item& b) { return value(a) > value(b); });
    all.resize(std::min(all.size(), kWorstRanks));
    return all;
}

/// Adds least, median and most of `value` over the items, and the rank of the most.
template <class Item, class Value, class Text>
std::vector<std::string> spread(std::string name, std::vector<Item> all, Value value, Text text) {
    std::stable_sort(all.begin(), all.end(),
                     [&](const Item& a, const Item& b) { return value(a) < value(b); });
    return {std::move(name), text(value(all.front())), text(value(all[all.size() / 2])),
            text(value(all.back())), fmt::format("rank {}", all.back().rank.value)};
}

std::string shareOf(Duration part, Duration whole) {
    return whole.ns == 0 ? "–"
                         : fmt::format("{:.1f} %", 100 * static_cast<double>(part.ns) /
                                                       static_cast<double>(whole.ns));
}

}  // namespace

std::string ledgerOfMany(const analysis::Report& report) {
    const std::vector<RankSum> sums = sumsOf(report);
    const auto time = [](Duration duration) { return durationText(duration.ns); };
    TextTable table({"", "least", "median", "most", "most on"});
    const auto all = sumOfParts(report.ledger);
    for (const LedgerPart part : kAll<LedgerPart>)
        if (all[at(part)].ns != 0)
            table.add(spread(
                toWord(part), sums, [&](const RankSum& sum) { return sum.parts[at(part)]; }, time));
    table.add(spread(
        "wall time", sums, [](const RankSum& sum) { return sum.wall; }, time));
    std::string text = fmt::format("  Over {} ranks:\n", sums.size()) + table.text("  ");
    TextTable held({"rank", "blocked or waiting", "share", "wall time"});
    for (const RankSum& sum : worst(sums, [](const RankSum& each) { return each.held(); }))
        held.add({std::to_string(sum.rank.value), time(sum.held()), shareOf(sum.held(), sum.wall),
                  time(sum.wall)});
    return text +
           fmt::format("  The {} that were blocked or waited longest:\n",
                       std::min(sums.size(), kWorstRanks)) +
           held.text("  ");
}

std::string memoryOfMany(const analysis::Report& report) {
    std::vector<analysis::RankMemory> known;
    for (const analysis::RankMemory& memory : report.memory)
        if (memory.known) known.push_back(memory);
    const std::size_t unknown = report.memory.size() - known.size();
    std::string text;
    if (!known.empty()) {
        const auto peakOf = [](const analysis::RankMemory& memory) { return memory.peak; };
        TextTable table({"", "least", "median", "most", "most on"});
        table.add(
            spread("peak", known, peakOf, [](Bytes bytes) { return bytesText(bytes.count); }));
        text += fmt::format("  Over {} ranks:\n", known.size()) + table.text("  ");
        TextTable largest({"rank", "peak", "at", "within the allocator", "theory"});
        for (const analysis::RankMemory& memory : worst(known, peakOf))
            largest.add({std::to_string(memory.rank.value), bytesText(memory.peak.count),
                         durationText(memory.peakTime.ns), bytesText(memory.managed().count),
                         bytesText(memory.theory.count)});
        text += fmt::format("  The {} largest:\n", std::min(known.size(), kWorstRanks)) +
                largest.text("  ");
    }
    if (unknown > 0) text += fmt::format("  Of {} ranks memory events are not there\n", unknown);
    return text;
}

}  // namespace shardscope::cli

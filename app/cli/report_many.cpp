#include "app/cli/report_many.h"

#include "app/cli/report_spread.h"
#include "storage/model/quantity_text.h"

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

/// A part of less than a hundredth of every rank's time has no row of its own.
bool isSeen(LedgerPart part, const std::vector<RankSum>& sums) {
    return std::any_of(sums.begin(), sums.end(), [part](const RankSum& sum) {
        return sum.parts[at(part)].ns > sum.wall.ns / 100;
    });
}

}  // namespace

std::string ledgerOfMany(const analysis::Report& report) {
    const std::vector<RankSum> sums = sumsOf(report);
    const auto time = [](Duration duration) { return durationText(duration); };
    TextTable table = spreadTable();
    for (const LedgerPart part : kAll<LedgerPart>)
        if (isSeen(part, sums))
            table.add(spread(
                toWord(part), sums, [&](const RankSum& sum) { return sum.parts[at(part)]; }, time));
    table.add(spread(
        "wall time", sums, [](const RankSum& sum) { return sum.wall; }, time));
    std::vector<std::string> held;
    for (const RankSum& sum : worst(sums, [](const RankSum& each) { return each.held(); }))
        held.push_back(fmt::format(
            "rank {} {} ({})", sum.rank.value, time(sum.held()),
            shareText(static_cast<double>(sum.held().ns), static_cast<double>(sum.wall.ns))));
    return table.text("  ") +
           fmt::format("  blocked or waiting longest: {}\n", fmt::join(held, ", "));
}

std::string memoryOfMany(const analysis::Report& report) {
    std::vector<analysis::RankMemory> known;
    for (const analysis::RankMemory& memory : report.memory)
        if (memory.known) known.push_back(memory);
    const std::size_t unknown = report.memory.size() - known.size();
    std::string text;
    if (!known.empty()) {
        TextTable table = spreadTable();
        const auto add = [&](const char* name, auto value) {
            table.add(spread(name, known, value, [](Bytes bytes) { return bytesText(bytes); }));
        };
        add("peak", [](const analysis::RankMemory& memory) { return memory.peak; });
        if (std::any_of(known.begin(), known.end(),
                        [](const auto& memory) { return memory.managed() != memory.peak; }))
            add("within the allocator",
                [](const analysis::RankMemory& memory) { return memory.managed(); });
        add("theory", [](const analysis::RankMemory& memory) { return memory.theory; });
        text += table.text("  ");
    }
    if (unknown > 0) text += fmt::format("  Of {} ranks memory events are not there\n", unknown);
    return text;
}

}  // namespace shardscope::cli

#include "profiler/analysis/arrival_skew.h"

#include "profiler/analysis/median.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::analysis {

ArrivalSkew arrivalSkew(const std::vector<Transfer>& transfers) {
    ArrivalSkew found;
    std::map<RankId, std::pair<LastComer, std::vector<std::int64_t>>> byRank;
    for (const Transfer& transfer : transfers) {
        if (transfer.step == kNoStep) continue;
        if (!transfer.late || !transfer.skew) {
            ++found.unknown;
            continue;
        }
        ++found.told;
        auto& [comer, skews] = byRank[*transfer.late];
        comer.rank = *transfer.late;
        ++comer.collectives;
        comer.waited += transfer.waited;
        comer.longest = std::max(comer.longest, *transfer.skew);
        skews.push_back(transfer.skew->ns);
    }
    for (auto& [rank, both] : byRank) {
        both.first.median = Duration{medianOf(std::move(both.second))};
        found.ranks.push_back(both.first);
    }
    std::stable_sort(found.ranks.begin(), found.ranks.end(),
                     [](const LastComer& a, const LastComer& b) { return a.waited > b.waited; });
    return found;
}

}  // namespace shardscope::analysis

#include "profiler/analysis/report/report.h"

#include "profiler/analysis/report/report_draft.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace shardscope::analysis {

Report analyse(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
               const std::vector<LedgerRow>& deviceRows, const std::vector<RankGrowth>& growths,
               const Surroundings& around) {
    std::vector<RankId> names;
    for (const RankEvents& events : ranks) names.push_back(events.rank);
    ReportDraft draft(summary, names);
    std::vector<RankShare> shares(ranks.size());
    forEachRank(ranks.size(), [&](std::size_t place) {
        shares[place] = draft.share(place, {ranks[place]}, deviceRows);
    });
    for (std::size_t place = 0; place < ranks.size(); ++place)
        draft.add(std::move(shares[place]), ranks[place]);
    for (std::size_t place = 0; place < ranks.size(); ++place)
        if (draft.wantsAgain(place)) draft.addAgain(place, {ranks[place]});
    return draft.conclude(growths, around);
}

}  // namespace shardscope::analysis

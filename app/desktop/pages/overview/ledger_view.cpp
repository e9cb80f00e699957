#include "app/desktop/pages/overview/ledger_view.h"

#include <algorithm>
#include <set>

namespace shardscope::desktop {
namespace {

using analysis::kLedgerPartCount;
using analysis::LedgerPart;
using analysis::LedgerRow;

Duration medianOf(std::vector<Duration> values) {
    if (values.empty()) return {};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

double share(Duration part, Duration whole) {
    return whole.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(whole.ns) : 0;
}

Duration blockedIn(const std::array<Duration, kLedgerPartCount>& parts) {
    return parts[at(LedgerPart::kExposedGather)] + parts[at(LedgerPart::kExposedReduction)] +
           parts[at(LedgerPart::kExposedOther)] + parts[at(LedgerPart::kWaiting)];
}

std::array<Duration, kLedgerPartCount> LedgerView::median(RankId rank) const {
    std::array<Duration, kLedgerPartCount> result{};
    for (std::size_t part = 0; part < result.size(); ++part) {
        std::vector<Duration> values;
        for (const LedgerRow& row : rows) {
            if (row.rank == rank) values.push_back(row.parts[part]);
        }
        result[part] = medianOf(std::move(values));
    }
    return result;
}

Duration LedgerView::medianWall(RankId rank) const {
    std::vector<Duration> values;
    for (const LedgerRow& row : rows) {
        if (row.rank == rank) values.push_back(row.wall);
    }
    return medianOf(std::move(values));
}

std::array<Duration, kLedgerPartCount> LedgerView::total() const {
    std::array<Duration, kLedgerPartCount> sum{};
    for (const LedgerRow& row : rows) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row.parts[i];
    }
    return sum;
}

Duration LedgerView::totalWall() const {
    Duration sum;
    for (const LedgerRow& row : rows) sum += row.wall;
    return sum;
}

LedgerView selectLedger(const OpenRecording& recording, const Selection& selection) {
    LedgerView view;
    std::optional<OpenRecording::StepSpan> steps;
    if (selection.range) steps = recording.stepsIn(*selection.range);
    std::set<RankId> ranks;
    for (const LedgerRow& row : recording.report.ledger) {
        if (!selection.includes(row.rank)) continue;
        if (selection.range && (!steps || row.step < steps->first || row.step > steps->last))
            continue;
        view.rows.push_back(row);
        ranks.insert(row.rank);
        if (!view.first || row.step < *view.first) view.first = row.step;
        if (!view.last || row.step > *view.last) view.last = row.step;
    }
    view.ranks.assign(ranks.begin(), ranks.end());
    return view;
}

}  // namespace shardscope::desktop

#include "profiler/analysis/steps/cores_taken.h"

#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace shardscope::analysis {
namespace {

using Rows = std::map<StepIndex, std::vector<const LedgerRow*>>;
using Taken = std::map<StepIndex, CoresTaken>;

/// Of one rank or host, by step.
using Series = std::map<StepIndex, double>;

std::vector<double> outside(const Series& series, const Taken& steps) {
    std::vector<double> values;
    for (const auto& [step, value] : series)
        if (!steps.contains(step)) values.push_back(value);
    return values;
}

double meanOf(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Adds to each of `steps` what the series has there over `usual` of the others.
template <class Usual>
void addExcess(const Series& series, Taken& steps, double CoresTaken::*sum, Usual usual) {
    const std::vector<double> others = outside(series, steps);
    if (others.empty()) return;
    const double normal = usual(others);
    for (auto& [step, taken] : steps)
        if (const auto value = series.find(step); value != series.end())
            taken.*sum += value->second - normal;
}

double medianOfAll(const std::vector<double>& values) {
    return medianOf(values);
}

void addLonger(const Rows& rows, Taken& steps) {
    std::map<RankId, Series> own, whole;
    for (const auto& [step, ofStep] : rows)
        for (const LedgerRow* row : ofStep) {
            const Duration busy = row->wall - row->parts[at(LedgerPart::kWaiting)];
            own[row->rank][step] = static_cast<double>(busy.ns);
            whole[row->rank][step] = static_cast<double>(row->wall.ns);
        }
    for (const auto& [rank, series] : own)
        addExcess(series, steps, &CoresTaken::ownNs, medianOfAll);
    for (const auto& [rank, series] : whole)
        addExcess(series, steps, &CoresTaken::wholeNs, medianOfAll);
    for (auto& [step, taken] : steps) taken.wholeNs /= static_cast<double>(whole.size());
}

void addWaits(const RecordingSummary& summary, const Rows& rows, Taken& steps) {
    std::map<RankId, Series> waits;
    for (const StepFacts& facts : summary.steps)
        if (facts.coreWaitNs >= 0 && rows.contains(facts.step))
            waits[facts.rank][facts.step] = static_cast<double>(facts.coreWaitNs);
    for (const auto& [rank, series] : waits)
        addExcess(series, steps, &CoresTaken::takenNs, medianOfAll);
}

/// Ranks of a host read the same, some a little later than others: the most counts.
void addStolen(const RecordingSummary& summary, const Rows& rows, Taken& steps) {
    std::map<RankId, std::int32_t> hosts;
    for (const RankFacts& rank : summary.ranks) hosts[rank.rank] = rank.host;
    std::map<std::int32_t, Series> stolen;
    for (const StepFacts& facts : summary.steps) {
        if (facts.stolenNs < 0 || !rows.contains(facts.step)) continue;
        double& most = stolen[hosts[facts.rank]][facts.step];
        most = std::max(most, static_cast<double>(facts.stolenNs));
    }
    for (const auto& [host, series] : stolen)
        addExcess(series, steps, &CoresTaken::takenNs, meanOf);
}

}  // namespace

double CoresTaken::share() const {
    const double longer = std::max(ownNs, wholeNs);
    return longer <= 0 ? 0 : std::clamp(takenNs / longer, 0.0, 1.0);
}

CoresTaken& CoresTaken::operator+=(const CoresTaken& other) {
    ownNs += other.ownNs;
    wholeNs += other.wholeNs;
    takenNs += other.takenNs;
    return *this;
}

std::map<StepIndex, CoresTaken> coresTaken(const RecordingSummary& summary, const Rows& rows,
                                           const std::set<StepIndex>& steps) {
    Taken taken;
    for (const StepIndex step : steps)
        if (rows.contains(step)) taken[step];
    addLonger(rows, taken);
    addWaits(summary, rows, taken);
    addStolen(summary, rows, taken);
    return taken;
}

CoresTaken sumOf(const std::map<StepIndex, CoresTaken>& steps) {
    CoresTaken sum;
    for (const auto& [step, taken] : steps) sum += taken;
    return sum;
}

}  // namespace shardscope::analysis

#include "profiler/analysis/steps/cores_taken.h"

#include "profiler/analysis/findings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
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

double totalOf(const Series& series) {
    double all = 0;
    for (const auto& [step, value] : series) all += value;
    return all;
}

/// Each rank of a host reads all of its cores, and books what it reads to one step, some ranks to
/// another one: the rank that read most counts.
void addStolen(const RecordingSummary& summary, const Rows& rows, Taken& steps) {
    std::map<RankId, std::int32_t> hosts;
    for (const RankFacts& rank : summary.ranks) hosts[rank.rank] = rank.host;
    std::map<std::int32_t, std::map<RankId, Series>> stolen;
    for (const StepFacts& facts : summary.steps)
        if (facts.stolenNs >= 0 && rows.contains(facts.step))
            stolen[hosts[facts.rank]][facts.rank][facts.step] = static_cast<double>(facts.stolenNs);
    for (const auto& [host, ranks] : stolen) {
        const auto most = std::max_element(
            ranks.begin(), ranks.end(),
            [](const auto& a, const auto& b) { return totalOf(a.second) < totalOf(b.second); });
        addExcess(most->second, steps, &CoresTaken::takenNs, meanOf);
    }
}

/// What was read of a host's cores, of steps that all of its ranks share. Each rank reads all of
/// them by itself and books what it reads to one step, some ranks to another one: of the sums over
/// steps the largest counts.
class HostUse {
public:
    void add(const StepFacts& facts) {
        const auto [place, fresh] = m_steps.try_emplace(facts.step);
        Step& step = place->second;
        if (fresh) step.begin = facts.start;
        step.begin = std::min(step.begin, facts.start);
        step.end = std::max(step.end, facts.end);
        step.cpuNs += facts.cpuTimeNs;
        if (facts.stolenNs < 0) m_known = false;
        if (facts.busyNs < 0) m_busyKnown = false;
        m_stolenNs[facts.rank] += facts.stolenNs;
        m_busyNs[facts.rank] += facts.busyNs;
    }
    [[nodiscard]] bool known() const { return m_known; }
    [[nodiscard]] double seconds() const {
        return sum([](const Step& step) { return (step.end - step.begin).ns; });
    }
    [[nodiscard]] double stolen() const { return mostOf(m_stolenNs); }
    [[nodiscard]] double own() const {
        return sum([](const Step& step) { return step.cpuNs; });
    }
    [[nodiscard]] bool knowsBusy() const { return m_busyKnown; }
    [[nodiscard]] double others() const { return std::max(0.0, mostOf(m_busyNs) - own()); }

private:
    struct Step {
        Timestamp begin, end;
        std::int64_t cpuNs = 0;
    };
    template <class Of>
    [[nodiscard]] double sum(Of of) const {
        double all = 0;
        for (const auto& [index, step] : m_steps) all += static_cast<double>(of(step)) * 1e-9;
        return all;
    }
    static double mostOf(const std::map<RankId, std::int64_t>& ranks) {
        std::int64_t most = 0;
        for (const auto& [rank, ns] : ranks) most = std::max(most, ns);
        return static_cast<double>(most) * 1e-9;
    }
    std::map<StepIndex, Step> m_steps;
    std::map<RankId, std::int64_t> m_stolenNs, m_busyNs;
    bool m_known = true, m_busyKnown = true;
};

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

std::string coresText(const CoreUse& use) {
    if (!use.known()) return "unknown: it was not recorded";
    std::string text = fmt::format("{:.1f} % of step time", 100 * use.waiting());
    if (use.stolen && *use.stolen >= 0.0005)
        text += fmt::format("; {:.1f} % of the cores was stolen", 100 * *use.stolen);
    if (use.others)
        text += fmt::format("; other programs used {:.1f} % of the cores", 100 * *use.others);
    return text;
}

CoreUse coreUse(const RecordingSummary& summary, const std::set<StepIndex>& steps) {
    std::map<RankId, std::int32_t> hosts;
    for (const RankFacts& rank : summary.ranks) hosts[rank.rank] = rank.host;
    CoreUse use;
    use.devices = !summary.devices.empty();
    std::map<std::int32_t, HostUse> byHost;
    for (const StepFacts& facts : summary.steps) {
        if (!steps.contains(facts.step)) continue;
        byHost[hosts[facts.rank]].add(facts);
        if (facts.coreWaitNs < 0) continue;
        use.wall += facts.range().duration();
        use.waited += Duration{facts.coreWaitNs};
    }
    double capacity = 0, stolen = 0, own = 0, others = 0;
    bool knowsOthers = true;
    for (const auto& [host, of] : byHost) {
        const std::int32_t cores = coresOfHost(summary, host);
        if (cores <= 0 || !of.known()) return use;
        capacity += cores * of.seconds();
        stolen += of.stolen();
        own += of.own();
        others += of.others();
        knowsOthers = knowsOthers && of.knowsBusy();
    }
    if (capacity <= 0) return use;
    use.stolen = stolen / capacity;
    use.own = own / capacity;
    if (knowsOthers) use.others = others / capacity;
    return use;
}

std::int32_t coresOfHost(const RecordingSummary& summary, std::int32_t host) {
    for (const FactRow& fact : summary.facts)
        if (fact.host == host && fact.name == toWord(Fact::kOnlineCores))
            if (const int cores = std::atoi(fact.value.c_str()); cores > 0) return cores;
    for (const HostFacts& facts : summary.hosts)
        if (facts.host == host) return facts.cores;
    return 0;
}

}  // namespace shardscope::analysis

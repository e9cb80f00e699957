#include "profiler/analysis/rules/rule.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

namespace shardscope::analysis {

MaybeFinding findMemoryAboveTheory(const RuleInput& input) {
    const RankMemory* worst = nullptr;
    double most = 0;
    for (const RankMemory& memory : input.report.memory) {
        if (!memory.known || memory.theory.count == 0) continue;
        const double above =
            static_cast<double>(memory.managed().count) / static_cast<double>(memory.theory.count) -
            1;
        if (above <= most) continue;
        most = above;
        worst = &memory;
    }
    if (worst == nullptr || most < kMemoryNote) return std::nullopt;
    RunFinding finding;
    finding.code = kMemoryAboveTheory;
    finding.severity = most > kMemoryWarning ? Severity::kWarning : Severity::kNote;
    finding.title =
        fmt::format("Memory of rank {} is {:.1f} % above theory", worst->rank.value, 100 * most);
    finding.detail = fmt::format("{} at the peak, {} by theory.", bytesText(worst->managed()),
                                 bytesText(worst->theory));
    finding.remedy = "look which category and owner hold more at the peak (analyze memory)";
    finding.rank = worst->rank;
    finding.denominator = "peak by theory of what the allocator holds";
    finding.evidence = {{"peak_bytes", static_cast<double>(worst->managed().count)},
                        {"theory_bytes", static_cast<double>(worst->theory.count)}};
    return finding;
}

MaybeFinding findMemoryGrowth(const RuleInput& input) {
    const RankGrowth* worst = nullptr;
    std::size_t growing = 0;
    for (const RankGrowth& each : input.growths) {
        if (!each.growth.grows) continue;
        ++growing;
        if (worst == nullptr || each.growth.all > worst->growth.all) worst = &each;
    }
    if (worst == nullptr) return std::nullopt;
    RunFinding finding;
    finding.code = kMemoryGrowth;
    finding.severity = Severity::kWarning;
    finding.title = fmt::format("Memory of rank {} grows by {} per step", worst->rank.value,
                                bytesText(worst->growth.perStep));
    finding.detail = fmt::format(
        "At step ends {} more is allocated than after warm-up; of the ranks whose events were "
        "read, {} of {} grow.",
        bytesText(worst->growth.all), growing, input.growths.size());
    finding.remedy = "compare what is alive in a late step with an early one (analyze memory)";
    finding.rank = worst->rank;
    finding.denominator = "bytes alive at the ends of steps, the first two left out";
    finding.evidence = {{"per_step_bytes", static_cast<double>(worst->growth.perStep.count)},
                        {"grown_bytes", static_cast<double>(worst->growth.all.count)},
                        {"ranks", static_cast<double>(growing)}};
    return finding;
}

}  // namespace shardscope::analysis

#include "engine/run/config/run_config.h"
#include "profiler/analysis/rules/rule.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace shardscope::analysis {
namespace {

/// Of the cores: what other programs use to be the reason.
constexpr double kOthersUse = 0.1;

/// Whether some host has more threads of ranks that compute than cores.
bool isCrowded(const RecordingSummary& summary) {
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    std::map<std::int32_t, std::int32_t> threads;
    for (const RankFacts& rank : summary.ranks)
        threads[rank.host] += config ? std::max(config->threads, 1) : 1;
    return std::any_of(threads.begin(), threads.end(), [&](const auto& host) {
        const std::int32_t cores = coresOfHost(summary, host.first);
        return cores > 0 && host.second > cores;
    });
}

struct Reason {
    std::string text, remedy;
};

Reason reasonOf(const CoreUse& use, const RecordingSummary& summary) {
    if (use.stolen.value_or(0) > use.waiting())
        return {fmt::format("the hypervisor gave {:.0f} % of the cores to other machines",
                            100 * *use.stolen),
                "run on a machine of its own, or when its neighbours are quiet"};
    if (use.others && *use.others >= kOthersUse)
        return {fmt::format("other programs used {:.0f} % of the cores", 100 * *use.others),
                "end what runs beside it, or give ranks cores of their own"};
    if (isCrowded(summary))
        return {"the run has more threads than cores", "use fewer --ranks or fewer --threads"};
    if (use.others)
        return {fmt::format("other programs used {:.0f} % of the cores only: the run's own threads "
                            "(communication, recording) share them, or a quota of processor time "
                            "held it back",
                            100 * *use.others),
                "leave a core to each rank's communication thread, and look at the quota of the "
                "control group"};
    return {"other programs, or the run's own threads",
            "look at what else runs on the machine; give ranks cores of their own"};
}

}  // namespace

MaybeFinding findCoresTaken(const RuleInput& input) {
    const std::set<StepIndex>& steps = input.steady;
    const CoreUse& use = input.report.cores;
    if (steps.empty() || !use.known() || use.taken() < kNotedTaken) return std::nullopt;
    const Reason reason = reasonOf(use, input.summary);
    RunFinding finding;
    finding.code = "cores-taken";
    finding.severity = use.takenOfSteps() >= kManyTaken ? Severity::kWarning : Severity::kNote;
    finding.title =
        fmt::format("Ranks were without a core for {:.0f} % of step time", 100 * use.taken());
    finding.detail = fmt::format(
        "Step threads were ready to run and had no core for {} of {}{}: {}. {}",
        durationText(use.waited), durationText(use.wall),
        use.stolen && *use.stolen >= 0.005
            ? fmt::format(", and {:.1f} % of the cores' time was stolen", 100 * *use.stolen)
            : std::string(),
        reason.text,
        use.devices
            ? "Devices have nothing to do meanwhile once the kernels that are queued have run."
            : "Step time, throughput and MFU describe the machine, not the code.");
    finding.remedy = reason.remedy;
    finding.cost = Duration{std::llround(use.taken() * static_cast<double>(use.wall.ns))};
    finding.steps = {*steps.begin(), *steps.rbegin()};
    finding.range = rangeOf(input.summary, *steps.begin(), *steps.rbegin());
    finding.denominator = "wall time of the steady steps, over ranks";
    finding.evidence = {{"waited_ns", static_cast<double>(use.waited.ns)},
                        {"wall_ns", static_cast<double>(use.wall.ns)},
                        {"waiting_share", use.waiting()}};
    if (use.stolen) finding.evidence.push_back({"stolen_share", *use.stolen});
    if (use.others) finding.evidence.push_back({"others_share", *use.others});
    return finding;
}

}  // namespace shardscope::analysis

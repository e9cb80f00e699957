#include "profiler/analysis/report/lacks.h"

#include "engine/run/config/program_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace shardscope::analysis {
namespace {

std::string fromLevel(CaptureLevel least, CaptureLevel recorded, std::string_view otherwise) {
    if (recorded >= least) return std::string(otherwise);
    return fmt::format("record it with --capture {}", toWord(least));
}

std::string howOf(Lack lack, CaptureLevel recorded) {
    switch (lack) {
        case Lack::kSteps:
            return "shardscope.step() in the script marks them, or --step-range REGEX";
        case Lack::kPhases:
            return fromLevel(CaptureLevel::kLight, recorded, "");
        case Lack::kMemory:
            return fromLevel(CaptureLevel::kFull, recorded,
                             "PyTorch's CPU allocator gave out none, or could not be followed");
        case Lack::kOperators:
            return fromLevel(CaptureLevel::kFull, recorded,
                             "none ran, or operators of this PyTorch version cannot be recorded");
        case Lack::kCollectives:
            return "no rank called torch.distributed";
        case Lack::kLoss:
            return "shardscope.metric(\"loss\", loss) in the script records it";
        case Lack::kGradientNorm:
            return "shardscope.metric(\"gradient_norm\", norm) in the script records it";
        case Lack::kModel:
            return "shardscope.model(model) in the script says it";
        case Lack::kTokens:
            return "shardscope.model(model, tokens_per_step=...) in the script says it";
        case Lack::kKernels:
            return "of programs kernels are not recorded yet";
    }
    return {};
}

/// What its process said of it, where PyTorch's operators could not be read.
std::string noShim(const RunFacts& run) {
    constexpr std::string_view kWord = "\"shim\":\"";
    const auto at = run.librariesJson.find(kWord);
    if (at == std::string::npos) return {};
    const auto begin = at + kWord.size();
    std::string said = run.librariesJson.substr(begin, run.librariesJson.find('"', begin) - begin);
    return said.starts_with("none") ? said : std::string();
}

bool isReadByShim(Lack lack) {
    return lack == Lack::kPhases || lack == Lack::kMemory || lack == Lack::kOperators ||
           lack == Lack::kCollectives;
}

std::string whyNoRank(const std::vector<ProcessFacts>& processes) {
    for (const ProcessFacts& each : processes)
        if (!each.notRecorded.empty())
            return fmt::format("process {} is not recorded: {}", each.pid, each.notRecorded);
    return "no process of it was seen to load PyTorch";
}

bool has(const std::vector<CollectiveOp>& operations, CollectiveOp operation) {
    return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

/// What has such a pattern, or nothing.
const char* patternOf(const std::vector<CollectiveOp>& operations) {
    const bool gathers = has(operations, CollectiveOp::kAllGather);
    if (has(operations, CollectiveOp::kReduceScatter))
        return gathers ? ", as FSDP and ZeRO do" : ", as sharded optimizers do";
    return has(operations, CollectiveOp::kAllReduce) && !gathers
               ? ", as data parallelism (DDP) does"
               : "";
}

}  // namespace

bool hasNoRank(const RunFacts& run, const std::vector<ProcessFacts>& processes) {
    return sourceOf(run) == RecordingSource::kProgram && !processes.empty() &&
           std::none_of(processes.begin(), processes.end(),
                        [](const ProcessFacts& each) { return each.role == ProcessRole::kRank; });
}

std::string howToGet(const RunFacts& run, const std::vector<ProcessFacts>& processes, Lack lack) {
    if (sourceOf(run) != RecordingSource::kProgram) return {};
    if (hasNoRank(run, processes)) return whyNoRank(processes);
    if (const std::string said = noShim(run); !said.empty() && isReadByShim(lack))
        return fmt::format("shim: {}; packaging/build-shims builds one", said);
    const auto program = run::parseProgramJson(run.configJson);
    return howOf(lack, program ? program->capture : CaptureLevel::kFull);
}

std::string seenText(const std::vector<CollectiveOp>& operations) {
    if (operations.empty()) return {};
    std::vector<std::string> names;
    for (const CollectiveOp each : operations) names.emplace_back(toWord(each));
    std::string list = names.back();
    names.pop_back();
    if (!names.empty()) list = fmt::format("{} and {}", fmt::join(names, ", "), list);
    return list + patternOf(operations);
}

}  // namespace shardscope::analysis

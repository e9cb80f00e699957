#include "app/cli/doctor/doctor_tracing.h"

#include <array>
#include <string_view>

namespace shardscope::cli {
namespace {

/// Each lets Nsight, a sanitizer or PyTorch's daemon in, and CUPTI serves one tool at a time.
constexpr std::array<std::string_view, 9> kInjections = {
    "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "NSYS_",  "NV_COMPUTE_PROFILER",
    "NV_NSIGHT_INJECTION",    "NV_TPS_LAUNCH_",         "QUADD_", "KINETO_USE_DAEMON=",
    "NV_SANITIZER_INJECTION"};
constexpr std::string_view kPreload = "LD_PRELOAD=";

bool injects(std::string_view variable) {
    for (const std::string_view name : kInjections)
        if (variable.starts_with(name)) return true;
    return false;
}

void append(std::string& list, std::string_view word, const char* separator) {
    if (!list.empty()) list += separator;
    list += word;
}

Check tracerCheck(const ProbeOutcome& probe, bool cuda) {
    const auto* tracing = probe.part<run::TracingPart>();
    if (tracing == nullptr) {
        if (cuda)
            return {"tracing.cupti", CheckStatus::kProblem, "the probe did not get to it", ""};
        return {"tracing.cupti", CheckStatus::kNote, "not tried: there is no GPU to use", ""};
    }
    if (tracing->started) {
        return {"tracing.cupti", CheckStatus::kOk,
                "CUPTI lets Shardscope trace: no other tool holds it", ""};
    }
    return {"tracing.cupti", CheckStatus::kProblem, tracing->problem.found,
            tracing->problem.remedy};
}

}  // namespace

Check injectionCheck(const std::vector<std::string>& environment) {
    std::string found, names, preload;
    for (const std::string& variable : environment) {
        if (variable.starts_with(kPreload) && variable.size() > kPreload.size()) preload = variable;
        if (!injects(variable)) continue;
        append(found, variable, ", ");
        append(names, variable.substr(0, variable.find('=')), " ");
    }
    if (!names.empty()) {
        return {"tracing.environment", CheckStatus::kProblem,
                "another tool is loaded into processes by " + found, "unset " + names};
    }
    if (!preload.empty()) {
        return {"tracing.environment", CheckStatus::kNote, preload,
                "unset LD_PRELOAD, if that is a profiler"};
    }
    return {"tracing.environment", CheckStatus::kOk, "no variable loads another tool", ""};
}

Check countersCheck(const std::string& rule, bool root) {
    if (rule.empty()) {
        return {"tracing.counters", CheckStatus::kNote, "no driver, so no counters to permit", ""};
    }
    if (rule.find("RmProfilingAdminOnly: 1") == std::string::npos)
        return {"tracing.counters", CheckStatus::kOk, "all users may read GPU counters", ""};
    if (root)
        return {"tracing.counters", CheckStatus::kOk, "root may read GPU counters, as we are", ""};
    return {"tracing.counters", CheckStatus::kNote,
            "only root may read GPU counters (RmProfilingAdminOnly: 1); kernels are traced all the "
            "same",
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee "
            "/etc/modprobe.d/nvidia-profiling.conf && sudo update-initramfs -u, then restart"};
}

void addTracingChecks(const ProbeOutcome& probe, const GpuSurroundings& around,
                      Diagnosis& diagnosis) {
    const auto* tracing = probe.part<run::TracingPart>();
    diagnosis.tracing = tracing != nullptr && tracing->started;
    diagnosis.checks.push_back(tracerCheck(probe, diagnosis.cuda));
    diagnosis.checks.push_back(injectionCheck(around.environment));
    diagnosis.checks.push_back(countersCheck(around.profilingRule, around.root));
}

}  // namespace shardscope::cli

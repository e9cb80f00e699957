#include "app/cli/doctor_gpu.h"

#include "app/cli/doctor_devices.h"
#include "app/cli/doctor_driver.h"
#include "app/cli/doctor_module.h"
#include "app/cli/doctor_tracing.h"

#include <utility>

namespace shardscope::cli {
namespace {

/// Without engine there was no probe to speak of: "engine.libtorch" says so.
void addProbeCheck(const ProbeOutcome& probe, Diagnosis& diagnosis) {
    if (probe.problem.empty() || probe.part<run::EnginePart>() == nullptr) return;
    diagnosis.checks.push_back(
        {"gpu.probe", CheckStatus::kProblem, "shardscope-rank --probe " + probe.problem,
         "once more, when the disk is slow; nvidia-smi; dmesg | grep -i xid"});
}

}  // namespace

void addGpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis) {
    diagnosis.checks.push_back(driverCheck(probe, around));
    for (Check& check : moduleChecks(probe, around)) diagnosis.checks.push_back(std::move(check));
    addDeviceChecks(probe, diagnosis);
    addProbeCheck(probe, diagnosis);
    addTracingChecks(probe, around, diagnosis);
}

}  // namespace shardscope::cli

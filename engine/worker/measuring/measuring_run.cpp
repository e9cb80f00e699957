#include "engine/worker/measuring/measuring_run.h"

#include "engine/launch/host_facts.h"
#include "engine/worker/measuring/machine_measurement.h"
#include "storage/model/host_clock.h"
#include "storage/model/quantity_text.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

namespace shardscope::worker {
namespace {

/// Of what is free, for the payloads of all ranks of a host or a GPU.
constexpr double kTakenShare = 0.8;

std::string listOf(const std::vector<run::MeasurementPlan::Item>& items) {
    std::string list;
    for (const auto& each : items)
        list += fmt::format("{}{} of {}", list.empty() ? "" : ", ", toWord(each.operation),
                            sizeText(each.size));
    return list;
}

}  // namespace

Result<void> MeasuringRun::run() {
    const auto plan = run::measurementPlan(m_config);
    if (!plan) return m_parts.outbox.fail({ErrorCode::kRank, plan.error().message}, "wrong-result");
    if (plan->startsWithMachine()) measureMachine(*plan);
    CollectiveSweep sweep({m_parts.communicator, m_parts.observer, m_parts.device, freeBytes(),
                           m_parts.beforeStep, [this] { return m_parts.commands.stopWanted(); }},
                          *plan);
    const auto outcome = sweep.run();
    if (!outcome)
        return m_parts.outbox.fail({ErrorCode::kRank, outcome.error().message}, "wrong-result");
    tell(*outcome);
    return {};
}

/// Step 0: the first rank of each host measures, and the others leave it the cores.
void MeasuringRun::measureMachine(const run::MeasurementPlan& plan) {
    m_parts.beforeStep(0);
    m_parts.observer.stepBegin(0);
    const std::int64_t start = hostNow();
    {
        const control::PhaseScope scope(&m_parts.observer, Phase::kCalibration, kNoLayer);
        if (m_parts.start.localRank() == 0) onThisMachine(plan);
        m_parts.communicator.barrier({Cause::kStart, kNoLayer, 0}).wait();
    }
    m_parts.observer.stepEnd({0, start, hostNow(), 0, false});
}

void MeasuringRun::onThisMachine(const run::MeasurementPlan& plan) {
    MachineParts machine;
    machine.device = m_parts.device;
    if (GpuRank* gpu = m_parts.gpu) {
        machine.runtime = &gpu->runtime();
        machine.deviceProduct = [gpu](std::int64_t rows, std::int64_t inner, std::int64_t columns,
                                      run::Precision precision, double seconds) {
            return gpu->productRate(rows, inner, columns, precision, seconds);
        };
    }
    machine.host = m_parts.start.host();
    machine.threads =
        std::min(m_parts.start.localSize() * m_config.threads, launch::threadsPerRank(1));
    machine.samples = std::max(plan.rounds, 5);
    machine.seconds = plan.seconds;
    machine.freeBytes = freeBytes();
    machine.tell = [this](const run::MeasuredFigure& figure, double value) {
        m_parts.outbox.post(run::MetricReported{
            {run::metricName(figure), StepIndex{0}, m_parts.session.at(hostNow()), value}});
    };
    machine.warn = [this](const std::string& sentence) {
        m_parts.outbox.raise(Severity::kNote, "measured-busy", sentence,
                             "Measure again when the machine has nothing else to do.");
    };
    machine.stopWanted = [this] { return m_parts.commands.stopWanted(); };
    if (plan.machine) MachineMeasurement(machine).run();
    machine.warn = [this](const std::string& sentence) {
        m_parts.outbox.raise(Severity::kNote, "measured-without", sentence,
                             "Use smaller shapes, or free memory.");
    };
    NormMeasurement(machine, m_config.precision).run(plan.norms);
    at::set_num_threads(m_config.threads);
}

/// That this rank may take where it computes; everything where that is unknown.
std::int64_t MeasuringRun::freeBytes() const {
    double free = 1e18;
    std::int32_t sharers = m_parts.start.localSize();
    if (m_parts.gpu != nullptr) {
        free = static_cast<double>(m_parts.gpu->runtime().memory().freeBytes);
        sharers = m_config.shareDevice ? sharers : 1;
    } else if (const auto host = launch::freeMemory()) {
        free = static_cast<double>(host->count);
    }
    return static_cast<std::int64_t>(kTakenShare * free / sharers);
}

void MeasuringRun::tell(const SweepOutcome& outcome) {
    if (m_parts.start.rank != 0) return;
    if (!outcome.skipped.empty())
        m_parts.outbox.raise(
            Severity::kNote, "measured-without",
            fmt::format("not measured, out of memory: {}; a rank would take {} times as much, "
                        "and the one with least may take {}",
                        listOf(outcome.skipped), kPayloadCopies,
                        sizeText({outcome.leastFreeBytes})),
            "Use smaller sizes or fewer ranks, or free memory.");
    if (outcome.cutShort > 0)
        m_parts.outbox.raise(
            Severity::kNote, "measured-shorter",
            fmt::format("{} operation{} and size{} had fewer than {} rounds: {} s were over",
                        outcome.cutShort, outcome.cutShort == 1 ? "" : "s",
                        outcome.cutShort == 1 ? "" : "s", m_config.measureRounds,
                        m_config.measureSeconds),
            "");
}

}  // namespace shardscope::worker

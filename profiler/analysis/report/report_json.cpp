#include "engine/run/config/run_settings.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/rank_facts.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace shardscope::analysis {
namespace {

using Json = nlohmann::ordered_json;

/// Absent and not finite are both null: JSON has no other word.
Json number(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return nullptr;
    return *value;
}

Json categories(const std::array<Bytes, kMemoryCategoryCount>& bytes) {
    Json object = Json::object();
    for (int category = 0; category < kMemoryCategoryCount; ++category)
        object[toWord(static_cast<MemoryCategory>(category))] =
            bytes[static_cast<std::size_t>(category)].count;
    return object;
}

Json overlapJson(const Overlap& overlap) {
    return {{"ratio", number(overlap.ratio())},
            {"limit", number(overlap.limit())},
            {"reached_of_limit", number(overlap.reachedOfLimit())},
            {"communication_ns", overlap.communication.ns},
            {"hidden_ns", overlap.computeKnown ? Json(overlap.hidden.ns) : Json()},
            {"exposed_ns", overlap.computeKnown ? Json(overlap.exposed.ns) : Json()},
            {"waiting_ns", overlap.waitingKnown ? Json(overlap.waiting.ns) : Json()},
            {"moving_ns", overlap.waitingKnown ? Json(overlap.moving.ns) : Json()}};
}

Json configJson(const std::string& text) {
    Json config = Json::parse(text, nullptr, false);
    return config.is_discarded() ? Json(nullptr) : config;
}

/// Null for ranks on a real link.
Json linkJson(const std::string& configJson) {
    const auto config = run::parseRunConfigJson(configJson);
    const std::string link = config ? run::modelledLink(*config) : std::string();
    return link.empty() ? Json() : Json(link);
}

Json runJson(const Report& report) {
    const RunFacts& run = report.run;
    const RunLabel& label = report.label;
    return {{"id", run.id},
            {"name", label.name.empty() ? Json(nullptr) : Json(label.name)},
            {"tags", label.tags},
            {"model", run.model},
            {"parameters", run.parameters},
            {"strategy", run.strategy},
            {"world_size", run.worldSize},
            {"status", toWord(run.status)},
            {"finalised", report.finalised},
            {"running", report.running},
            {"product", run.product},
            {"command_line", run.commandLine},
            {"started_unix_ns", run.startedUnixNs},
            {"duration_ns", run.ended.ns},
            {"link", linkJson(run.configJson)},
            {"config", configJson(run.configJson)}};
}

Json mfuJson(const Mfu& mfu) {
    Json steps = Json::array();
    for (const Mfu::OfStep& each : mfu.steps)
        steps.push_back({{"step", each.step.value}, {"value", each.value}, {"hfu", each.hardware}});
    return {{"value", number(mfu.value)},
            {"variant", mfu.variant},
            {"peak_flops", number(mfu.peakFlops)},
            {"peak_source", mfu.peakSource},
            {"unsure", mfu.unsure},
            {"flops_per_s", number(mfu.flopsPerSecond)},
            {"flops_per_step", number(mfu.flopsPerStep)},
            {"hfu", number(mfu.hardware)},
            {"steps", std::move(steps)},
            {"reason", mfu.reason.empty() ? Json(nullptr) : Json(mfu.reason)}};
}

Json ledgerJson(const Report& report) {
    Json rows = Json::array();
    for (const LedgerRow& row : report.ledger) {
        // Parts add up: the two operations of reductions are one of them, and stand beside.
        Json parts = Json::object(), reductions = Json::object();
        for (const LedgerPart part : kAll<LedgerPart>) {
            const bool reduction =
                part == LedgerPart::kExposedReduceScatter || part == LedgerPart::kExposedAllReduce;
            (reduction ? reductions : parts)[toKey(part)] = row.parts[at(part)].ns;
        }
        parts[kReductionKey] = blockedInReductions(row.parts).ns;
        rows.push_back({{"rank", row.rank.value},
                        {"step", row.step.value},
                        {"wall_ns", row.wall.ns},
                        {"parts", std::move(parts)},
                        {"reductions", std::move(reductions)}});
    }
    return rows;
}

Json memoryJson(const Report& report) {
    Json rows = Json::array();
    for (const RankMemory& memory : report.memory) {
        const bool known = memory.known;
        // There is none of an imported trace, nor of a run that trains nothing.
        const bool theory = memory.theory.count > 0;
        rows.push_back(
            {{"rank", memory.rank.value},
             {"peak_bytes", known ? Json(memory.peak.count) : Json(nullptr)},
             {"peak_managed_bytes", known ? Json(memory.managed().count) : Json(nullptr)},
             {"peak_time_ns", known ? Json(memory.peakTime.ns) : Json(nullptr)},
             {"by_category", known ? categories(memory.byCategory) : Json(nullptr)},
             {"theory_bytes", theory ? Json(memory.theory.count) : Json(nullptr)},
             {"theory_by_category", theory ? categories(memory.theoryByCategory) : Json(nullptr)}});
    }
    return rows;
}

Json devicesJson(const Report& report) {
    Json rows = Json::array();
    for (const DeviceUse& use : report.devices) {
        const DeviceFacts& device = use.device;
        const bool traced = use.traced;
        const auto known = [&](Duration time) { return traced ? Json(time.ns) : Json(nullptr); };
        rows.push_back({{"rank", device.rank.value},
                        {"name", device.name},
                        {"uuid", device.uuid},
                        {"pci_bus_id", device.pciBusId},
                        {"memory_bytes", device.memory.count},
                        {"driver", device.driver},
                        {"shared_by", device.sharedBy},
                        {"mig", device.mig},
                        {"attention", device.attention},
                        {"tracing", device.tracing},
                        {"vendor_peak_flops", number(device.vendorPeak)},
                        {"vendor_peak_source", device.vendorPeakSource},
                        {"measured_peak_flops", number(device.measuredPeak)},
                        {"measured_peak_source", device.measuredPeakSource},
                        {"clock_error_ns", device.clockErrorNs},
                        {"kernels", use.kernels},
                        {"compute_ns", known(use.compute)},
                        {"communication_ns", known(use.communication)},
                        {"hidden_ns", known(use.hidden)},
                        {"idle_ns", known(use.idle)},
                        {"copies_ns", known(use.copies)},
                        {"overlap", number(use.overlap())},
                        {"joules_per_step", number(use.joulesPerStep)},
                        {"joules_per_token", number(use.joulesPerToken)}});
    }
    return rows;
}

Json markedJson(const Report& report) {
    Json rows = Json::array();
    for (const MarkedCollective& each : report.marked)
        rows.push_back({{"name", each.name}, {"count", each.count}, {"total_ns", each.total.ns}});
    return rows;
}

Json htaJson(const Report& report) {
    Json rows = Json::array();
    for (const HtaNumbers& numbers : report.hta) {
        Json idle = Json::array();
        for (const HtaIdle& stream : numbers.idle)
            idle.push_back({{"stream", stream.stream},
                            {"host_wait_ns", stream.hostWaitNs},
                            {"kernel_wait_ns", stream.kernelWaitNs},
                            {"other_ns", stream.otherNs}});
        rows.push_back({{"rank", numbers.rank.value},
                        {"whole_microseconds", numbers.options.wholeMicroseconds},
                        {"last_step_kept", numbers.options.keepLastStep},
                        {"comp_comm_overlap_pctg", number(numbers.overlapPercent)},
                        {"kernel_time_ns", numbers.kernelNs},
                        {"idle_time_ns", numbers.idleNs},
                        {"compute_time_ns", numbers.computeNs},
                        {"non_compute_time_ns", numbers.nonComputeNs},
                        {"idle_by_stream", std::move(idle)}});
    }
    return rows;
}

Json waitingJson(const Report& report) {
    Json rows = Json::array();
    for (const WaitingForRank& waiting : report.waiting)
        rows.push_back({{"late_rank", waiting.late.value},
                        {"waited_ns", waiting.waited.ns},
                        {"collectives", waiting.collectives}});
    const UnknownWaits& unknown = report.unknown;
    if (unknown.collectives > 0)
        rows.push_back({{"late_rank", nullptr},
                        {"waited_ns", unknown.waited.ns},
                        {"collectives", unknown.collectives},
                        {"reason",
                         "clocks of the hosts are in doubt by more than the last rank "
                         "was late"}});
    return rows;
}

/// Empty for a run on one host. Proven bounds are those of collectives, by window.
Json clocksJson(const Report& report) {
    Json rows = Json::array();
    if (!report.clocks.several()) return rows;
    for (const HostClock& host : report.clocks.hosts())
        rows.push_back({{"host", host.host},
                        {"name", host.name},
                        {"comparisons", host.comparisons},
                        {"offset_ns", host.offsetNs},
                        {"drift_ppb", host.driftPpb},
                        {"residual_ns", host.residual.ns},
                        {"worst_residual_ns", host.worstResidual.ns},
                        {"steps", host.steps}});
    return rows;
}

/// Where collectives prove that times of two hosts are apart, each pair's most.
Json clockProofsJson(const Report& report) {
    Json rows = Json::array();
    for (const ClockProof& proof : report.clocks.proofs())
        rows.push_back({{"host_ahead", proof.first},
                        {"host_behind", proof.second},
                        {"ahead_ns", proof.ahead.ns},
                        {"begin_ns", proof.window.begin.ns},
                        {"end_ns", proof.window.end.ns}});
    return rows;
}

Json findingsJson(const Report& report) {
    Json list = Json::array();
    for (const RunFinding& finding : report.findings) {
        Json evidence = Json::object();
        for (const RunFinding::Number& number : finding.evidence)
            evidence[number.name] = number.value;
        Json json = {{"code", finding.code},
                     {"severity", toWord(finding.severity)},
                     {"title", finding.title},
                     {"sentence", finding.detail},
                     {"remedy", finding.remedy},
                     {"evidence", std::move(evidence)},
                     {"denominator", finding.denominator}};
        json["cost_ns"] = finding.cost ? Json(finding.cost->ns) : Json();
        json["rank"] = finding.rank ? Json(finding.rank->value) : Json();
        json["steps"] = finding.steps
                            ? Json::array({finding.steps->first.value, finding.steps->second.value})
                            : Json();
        list.push_back(std::move(json));
    }
    return list;
}

Json diagnosticsJson(const Report& report) {
    Json rows = Json::array();
    for (const Diagnostic& diagnostic : report.diagnostics)
        rows.push_back({{"severity", toWord(diagnostic.severity)},
                        {"code", diagnostic.code},
                        {"message", diagnostic.message},
                        {"remedy", diagnostic.remedy},
                        {"rank", diagnostic.rank ? Json(diagnostic.rank->value) : Json(nullptr)},
                        {"time_ns", diagnostic.time.ns},
                        {"count", diagnostic.count}});
    return rows;
}

template <class T>
Json orNull(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

Json processesJson(const Report& report) {
    Json rows = Json::array();
    for (const ProcessFacts& process : report.processes)
        rows.push_back({{"host", process.host},
                        {"pid", process.pid},
                        {"parent", process.parent},
                        {"role", toWord(process.role)},
                        {"rank", process.rank < 0 ? Json() : Json(process.rank)},
                        {"attempt", process.attempt},
                        {"command", process.command},
                        {"started_ns", process.started.ns},
                        {"ended_ns", process.ended ? Json(process.ended->ns) : Json()},
                        {"exit_code", orNull(process.exitCode)},
                        {"exit_signal", orNull(process.exitSignal)},
                        {"cpu_time_ns", process.cpuTimeNs},
                        {"peak_resident_bytes", process.peakResident.count},
                        {"not_recorded", process.notRecorded}});
    return rows;
}

}  // namespace

std::string toJson(const Report& report) {
    Json json;
    json["schema"] = "shardscope.report/1";
    json["run"] = runJson(report);
    json["loss"] = {{"first", number(report.lossFirst)},
                    {"last", number(report.lossLast)},
                    {"validation_last", number(report.validationLossLast)}};
    json["throughput"] = {{"tokens_per_s", number(report.tokensPerSecond)},
                          {"whole_run_tokens_per_s", number(report.wholeTokensPerSecond)},
                          {"step_s_median", number(report.stepSecondsMedian)},
                          {"warmup_steps_left_out", report.warmupStepsLeftOut}};
    json["cores"] = {
        {"known", report.cores.known()},
        {"waited_ns", report.cores.waited.ns},
        {"wall_ns", report.cores.wall.ns},
        {"waiting_share", report.cores.known() ? Json(report.cores.waiting()) : Json(nullptr)},
        {"stolen_share", number(report.cores.stolen)},
        {"own_share", number(report.cores.own)},
        {"others_share", number(report.cores.others)}};
    json["mfu"] = mfuJson(report.mfu);
    json["measured_peak_use"] = number(report.measuredPeakUse);
    json["within_steps"] = report.withinSteps;
    json["devices"] = devicesJson(report);
    json["overlap"] = overlapJson(report.overlap);
    Json byRank = Json::array();
    for (std::size_t i = 0; i < report.overlapByRank.size(); ++i) {
        Json row = {{"rank", report.memory[i].rank.value}};
        row.update(overlapJson(report.overlapByRank[i]));
        byRank.push_back(std::move(row));
    }
    json["overlap"]["by_rank"] = std::move(byRank);
    json["ledger"] = ledgerJson(report);
    json["memory"] = memoryJson(report);
    json["waiting"] = waitingJson(report);
    json["waiting_known"] = report.waitingKnown;
    json["clocks"] = clocksJson(report);
    json["clock_proofs"] = clockProofsJson(report);
    json["clock_contradictions"] = report.clocks.contradictions();
    json["marked_collectives"] = markedJson(report);
    json["hta_compatible"] = htaJson(report);
    json["completeness"] = {{"complete", report.completeness.complete},
                            {"known", report.completeness.known},
                            {"missing", report.completeness.missing}};
    json["detail"] = {{"steps", report.basis.steps},
                      {"detailed_steps", report.basis.detailed},
                      {"left_out", report.basis.leftOut}};
    json["findings"] = findingsJson(report);
    json["slow_steps"] = Json::array();
    json["slow_step_reasons"] = Json::array();
    for (const SlowStepFound& slow : report.slowSteps) {
        json["slow_steps"].push_back(slow.step.value);
        json["slow_step_reasons"].push_back({{"step", slow.step.value}, {"why", slow.why}});
    }
    json["judged"] = {{"enough", report.judged.enough},
                      {"unknown", report.judged.unknown},
                      {"could_not_tell", report.judged.unknown}};
    json["diagnostics"] = diagnosticsJson(report);
    if (!report.processes.empty()) json["processes"] = processesJson(report);
    json["events"] = report.events;
    json["dropped"] = report.dropped;
    json["lost"] = report.lost;
    json["file_bytes"] = report.fileSize.count;
    // Texts of a recording may hold any bytes; JSON must not fail on them.
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shardscope::analysis

#include "app/cli/answers/report_of.h"

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/questions/hta_rows.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/event_account.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_label.h"
#include "storage/model/step_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace shardscope::cli {
namespace {

/// HTA's two ways to treat the last step, of times as they are and in whole microseconds; the first
/// is what HTA says by itself.
Result<std::vector<analysis::HtaNumbers>> htaNumbers(storage::RecordingReader& reader) {
    const auto traces = questions::readHtaTraces(reader);
    if (!traces) return failure(traces);
    std::vector<analysis::HtaNumbers> numbers;
    for (const bool keepLastStep : {false, true})
        for (const bool wholeMicroseconds : {false, true})
            for (auto& rank : analysis::htaCompatible(*traces, {wholeMicroseconds, keepLastStep}))
                numbers.push_back(std::move(rank));
    return numbers;
}

bool hasDeviceLane(const RecordingSummary& summary) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(),
                       [](const LaneFacts& lane) { return isStreamLane(lane.lane); });
}

}  // namespace

Result<analysis::Report> reportOf(storage::RecordingReader& reader, bool hta) {
    const auto summary = reader.summary();
    if (!summary) return failure(summary);
    auto report = questions::readReport(reader, *summary);
    if (!report) return report;
    if (hta || hasDeviceLane(*summary)) {
        auto numbers = htaNumbers(reader);
        if (!numbers) return failure(numbers);
        report->hta = std::move(*numbers);
    }
    return report;
}

using Json = nlohmann::ordered_json;

std::string infoJson(const RecordingSummary& summary, bool running) {
    const RunFacts& run = summary.run;
    Json json;
    json["schema"] = "shardscope.info/1";
    const RunLabel label = labelIn(summary.facts);
    json["run"] = {{"id", run.id},
                   {"name", label.name.empty() ? Json(nullptr) : Json(label.name)},
                   {"tags", label.tags},
                   {"product", run.product},
                   {"command_line", run.commandLine},
                   {"model", run.model},
                   {"strategy", run.strategy},
                   {"world_size", run.worldSize},
                   {"parameters", run.parameters},
                   {"started_unix_ns", run.startedUnixNs},
                   {"status", toWord(run.status)},
                   {"ended_ns", run.ended.ns}};
    json["finalised"] = summary.complete;
    json["running"] = running;
    json["ranks"] = Json::array();
    for (const RankFacts& rank : summary.ranks)
        json["ranks"].push_back({{"rank", rank.rank.value},
                                 {"host", rank.host},
                                 {"pid", rank.pid},
                                 {"device", rank.device},
                                 {"emitted", rank.emitted},
                                 {"dropped", rank.dropped}});
    const EventAccount account = eventAccount(summary);
    json["events_counted"] = account.emitted;
    json["events_uncounted"] = account.uncounted;
    json["events_dropped"] = account.dropped;
    json["events_lost"] = running ? 0 : account.lost;
    json["hosts"] = Json::array();
    const analysis::HostClocks clocks(summary, {});
    for (const analysis::HostClock& host : clocks.hosts())
        json["hosts"].push_back({{"host", host.host},
                                 {"name", host.name},
                                 {"clock_comparisons", host.comparisons},
                                 {"clock_offset_ns", host.offsetNs},
                                 {"clock_drift_ppb", host.driftPpb},
                                 {"clock_residual_ns", host.residual.ns},
                                 {"clock_worst_residual_ns", host.worstResidual.ns},
                                 {"clock_steps", host.steps}});
    json["facts"] = Json::array();
    for (const FactRow& fact : summary.facts)
        json["facts"].push_back({{"name", fact.name},
                                 {"host", fact.host},
                                 {"rank", fact.rank < 0 ? Json() : Json(fact.rank)},
                                 {"value", fact.value}});
    json["processes"] = summary.processes.size();
    json["steps"] = summary.steps.empty() ? 0 : summary.steps.back().step.value + 1;
    json["detail"] = Json::array();
    for (const DetailGroup& group : groupDetail(summary.detail))
        json["detail"].push_back({{"level", toWord(group.level)},
                                  {"fate", fateOf(group.reason)},
                                  {"source", toWord(group.reason)},
                                  {"first_step", group.first.value},
                                  {"last_step", group.last.value},
                                  {"steps", group.steps},
                                  {"removed", group.counted ? Json(group.removed) : Json()}});
    json["events"] = {
        {"spans", summary.events.spans},   {"collectives", summary.events.collectives},
        {"memory", summary.events.memory}, {"counters", summary.events.counters},
        {"flows", summary.events.flows},   {"instants", summary.events.instants}};
    json["file_bytes"] = summary.fileSize.count;
    json["chunk_bytes"] = summary.chunkBytes.count;
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string verificationJson(const storage::Verification& found) {
    Json json;
    json["schema"] = "shardscope.verification/1";
    json["sound"] = found.sound();
    json["finalised"] = found.complete;
    json["rows"] = found.rows;
    json["chunks"] = found.chunks;
    json["memory_states"] = found.memoryStates;
    json["pyramid_segments"] = found.pyramidSegments;
    json["events"] = {{"spans", found.events.spans},   {"collectives", found.events.collectives},
                      {"memory", found.events.memory}, {"counters", found.events.counters},
                      {"flows", found.events.flows},   {"instants", found.events.instants}};
    json["fault_count"] = found.faultCount;
    json["faults"] = Json::array();
    for (const storage::Fault& fault : found.faults)
        json["faults"].push_back({{"where", fault.where}, {"what", fault.what}});
    json["notes"] = found.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shardscope::cli

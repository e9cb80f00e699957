#include "app/cli/info_json.h"

#include "profiler/analysis/host_clocks.h"

#include <nlohmann/json.hpp>

namespace shardscope::cli {

using Json = nlohmann::ordered_json;

std::string infoJson(const RecordingSummary& summary, bool running) {
    const RunFacts& run = summary.run;
    Json json;
    json["schema"] = "shardscope.info/1";
    json["run"] = {{"id", run.id},
                   {"product", run.product},
                   {"command_line", run.commandLine},
                   {"model", run.model},
                   {"strategy", run.strategy},
                   {"world_size", run.worldSize},
                   {"parameters", run.parameters},
                   {"started_unix_ns", run.startedUnixNs},
                   {"status", toWord(run.status)},
                   {"ended_ns", run.ended.ns}};
    json["complete"] = summary.complete;
    json["running"] = running;
    json["ranks"] = Json::array();
    for (const RankFacts& rank : summary.ranks)
        json["ranks"].push_back({{"rank", rank.rank.value},
                                 {"host", rank.host},
                                 {"pid", rank.pid},
                                 {"device", rank.device},
                                 {"emitted", rank.emitted},
                                 {"dropped", rank.dropped}});
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
    json["complete"] = found.complete;
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

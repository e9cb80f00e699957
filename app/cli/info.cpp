// `shardscope info`: the facts of a recording, without analysing it.
#include "app/cli/command.h"
#include "app/cli/report_table.h"
#include "storage/recording/recording_reader.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
    std::string path;
    bool json = false;
};

std::string startedText(std::int64_t unixNs) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(static_cast<std::time_t>(unixNs / 1'000'000'000)));
}

Json infoJson(const RecordingSummary& summary) {
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
    json["ranks"] = Json::array();
    for (const RankFacts& rank : summary.ranks)
        json["ranks"].push_back({{"rank", rank.rank.value},
                                 {"host", rank.host},
                                 {"pid", rank.pid},
                                 {"device", rank.device},
                                 {"emitted", rank.emitted},
                                 {"dropped", rank.dropped}});
    json["steps"] = summary.steps.empty() ? 0 : summary.steps.back().step.value + 1;
    json["events"] = {{"spans", summary.events.spans},
                      {"collectives", summary.events.collectives},
                      {"memory", summary.events.memory},
                      {"counters", summary.events.counters}};
    json["file_bytes"] = summary.fileSize.count;
    json["chunk_bytes"] = summary.chunkBytes.count;
    return json;
}

std::string infoText(const RecordingSummary& summary, const std::string& path) {
    const RunFacts& run = summary.run;
    const auto line = [](const char* name, const std::string& value) {
        return fmt::format("{:<12}{}\n", name, value);
    };
    std::string text = line("recording", path) + line("run", run.id) +
                       line("written by", run.product) + line("command", run.commandLine) +
                       line("started", startedText(run.startedUnixNs));
    text += line("status", fmt::format("{}{}, {} recorded", toWord(run.status),
                                       summary.complete ? "" : " (not finalised)",
                                       durationText(run.ended.ns)));
    text += line("model", fmt::format("{}, {} parameters, {} on {} ranks", run.model,
                                      countText(static_cast<std::uint64_t>(run.parameters)),
                                      run.strategy, run.worldSize));
    for (const HostFacts& host : summary.hosts)
        text += line("host", fmt::format("{}: {}, {} cores, {}", host.name, host.cpu, host.cores,
                                         bytesText(host.memory.count)));
    for (const RankFacts& rank : summary.ranks)
        text += line("rank", fmt::format("{}: {}, pid {}, {} events, {} dropped", rank.rank.value,
                                         rank.device, rank.pid, countText(rank.emitted),
                                         countText(rank.dropped)));
    text += line("steps",
                 std::to_string(summary.steps.empty() ? 0 : summary.steps.back().step.value + 1));
    text += line("events",
                 fmt::format("{} spans, {} collectives, {} memory, {} counter samples",
                             countText(summary.events.spans), countText(summary.events.collectives),
                             countText(summary.events.memory), countText(summary.events.counters)));
    text += line("file", fmt::format("{}, of which {} are compressed events",
                                     bytesText(summary.fileSize.count),
                                     bytesText(summary.chunkBytes.count)));
    for (const auto& diagnostic : summary.diagnostics)
        text += line(toWord(diagnostic.severity), diagnostic.message);
    return text;
}

int run(const InfoOptions& options) {
    auto reader = storage::openRecording(options.path);
    const auto summary = reader ? (*reader)->summary() : Result<RecordingSummary>(failure(reader));
    if (!summary) {
        fmt::print(stderr, "shardscope: {}\n", summary.error().message);
        return exitStatus(summary.error());
    }
    if (options.json)
        fmt::print("{}\n", infoJson(*summary).dump(2, ' ', false, Json::error_handler_t::replace));
    else
        fmt::print("{}", infoText(*summary, options.path));
    return 0;
}

}  // namespace

Command addInfo(CLI::App& root) {
    auto options = std::make_shared<InfoOptions>();
    CLI::App* app = root.add_subcommand("info", "say what a recording holds");
    app->footer("Example:\n  shardscope info run.sscope");
    app->add_option("recording", options->path, "recording to describe")->required();
    app->add_flag("--json", options->json, "print one JSON document, schema shardscope.info/1");
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli

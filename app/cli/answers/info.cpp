// `shardscope info`: the facts of a recording, without analysing it.
#include "app/cli/answers/answer_text.h"
#include "app/cli/answers/report_of.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/run_settings.h"
#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/process_table.h"
#include "storage/model/event_account.h"
#include "storage/model/host_facts.h"
#include "storage/model/plain_text.h"
#include "storage/model/process_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/run_label.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/sqlite/sqlite_error.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

struct InfoOptions {
    RecordingPlace place;
    bool json = false;
    bool verify = false;
};

std::string startedText(std::int64_t unixNs) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(static_cast<std::time_t>(unixNs / 1'000'000'000)));
}

/// "3 (4 to 6)": how many, and which where they do not begin with 0.
std::string stepsText(const RecordingSummary& summary) {
    std::set<StepIndex> steps;
    for (const StepFacts& step : summary.steps) steps.insert(step.step);
    if (steps.empty() || steps.begin()->value == 0) return std::to_string(steps.size());
    return fmt::format("{} ({} to {})", steps.size(), steps.begin()->value, steps.rbegin()->value);
}

std::string eventsText(const EventCounts& events) {
    std::string text = fmt::format("{} spans, {} collectives, {} memory, {} counter samples",
                                   countText(events.spans), countText(events.collectives),
                                   countText(events.memory), countText(events.counters));
    // Only imported traces have them.
    if (events.flows > 0) text += fmt::format(", {} flow events", countText(events.flows));
    if (events.instants > 0) text += fmt::format(", {} instants", countText(events.instants));
    return text;
}

/// A line for each, below the one that started it.
std::vector<std::string> processLines(const std::vector<ProcessFacts>& processes) {
    constexpr std::size_t kMostLines = 20;
    std::vector<std::string> lines;
    for (const questions::PlacedProcess& each : questions::processTree(processes)) {
        if (lines.size() == kMostLines) {
            lines.push_back(fmt::format("and {} more", processes.size() - kMostLines));
            return lines;
        }
        const ProcessFacts& process = processes[each.index];
        lines.push_back(
            fmt::format("{:{}}{}: pid {}, {}, {} CPU time, {} peak memory, {}", "", 2 * each.depth,
                        questions::processTitle(process), process.pid,
                        questions::processEnd(process), durationText({process.cpuTimeNs}),
                        bytesText(process.peakResident), printableLine(process.command)));
    }
    return lines;
}

/// How far its writer has come.
std::string statusText(const RecordingSummary& summary, bool running) {
    const std::string recorded = durationText({summary.run.ended.ns});
    if (running) return fmt::format("running, {} recorded so far", recorded);
    if (summary.run.status == RunStatus::kRecording)
        return fmt::format("not finalised, {} recorded", recorded);
    return fmt::format("{}{}, {} recorded", toWord(summary.run.status),
                       summary.complete ? "" : " (not finalised)", recorded);
}

std::string infoText(const RecordingSummary& summary, bool running, const std::string& path) {
    const RunFacts& run = summary.run;
    const auto config = run::parseRunConfigJson(run.configJson);
    const std::string measured = config ? run::measuredText(*config) : std::string();
    std::vector<questions::Figure> lines;
    const auto line = [&lines](const char* name, const std::string& value) {
        lines.push_back({{"", name}, value});
    };
    line("recording", path);
    const RunLabel label = labelIn(summary.facts);
    if (!label.name.empty()) line("name", label.name);
    if (!label.tags.empty()) line("tags", tagsText(label));
    line("run", run.id);
    line("written by", run.product);
    // No flag of `record` makes ranks measure: bench and calibrate write run files.
    if (!run.commandLine.empty() && measured.empty()) line("command", run.commandLine);
    line("started", startedText(run.startedUnixNs));
    line("status", statusText(summary, running));
    if (running)
        line("running", "its writer is still running; shown is what there is now");
    else if (!summary.complete)
        line("unfinished",
             "its writer died, or is on another host; the last events may be in the -wal "
             "file beside it, so move or copy both");
    if (!measured.empty()) line("measures", measured);
    if (analysis::hasNoRank(run, summary.processes))
        line("ranks", "none: " + analysis::howToGet(summary, analysis::Lack::kSteps));
    else if (run.model.empty() || !measured.empty())
        line("ranks", fmt::format("{}, {} of them here", run.worldSize, summary.ranks.size()));
    else
        line("model",
             fmt::format("{}, {} parameters, {} on {}", run.model, countText(run.parameters),
                         run.strategy, counted(run.worldSize, "rank")));
    if (config)
        if (const std::string link = run::modelledLink(*config); !link.empty()) line("link", link);
    for (const HostFacts& host : summary.hosts)
        if (!host.name.empty())
            line("host", fmt::format("{}: {}, {} cores, {}", host.name, host.cpu, host.cores,
                                     bytesText(host.memory)));
    for (const Fact fact : kAll<Fact>)
        if (const std::string value = factText(summary.facts, fact); !value.empty())
            line(entryOf(fact)->title, value);
    if (const analysis::HostClocks clocks(summary, {}); clocks.several())
        for (const analysis::HostClock& host : clocks.hosts())
            line("clock", fmt::format("{}: {}", host.name, analysis::clockText(host)));
    for (const RankFacts& rank : summary.ranks)
        line("rank",
             fmt::format("{}: {}, pid {}, {} events, {} dropped", rank.rank.value, rank.device,
                         rank.pid, countText(rank.emitted), countText(rank.dropped)));
    for (const std::string& process : processLines(summary.processes)) line("process", process);
    line("steps", stepsText(summary));
    for (const std::string& phrase : detailPhrases(summary.detail)) line("detail", phrase);
    line("events", eventsText(summary.events));
    if (const EventAccount account = eventAccount(summary); account.lost > 0 && !running)
        line("lost", fmt::format("{} of {} events that ranks counted never came into the file",
                                 countText(account.lost), countText(account.emitted)));
    line("file", fmt::format("{}, of which {} are compressed events", bytesText(summary.fileSize),
                             bytesText(summary.chunkBytes)));
    for (const auto& diagnostic : summary.diagnostics)
        line(toWord(diagnostic.severity), diagnostic.message);
    return figuresText(lines);
}

std::string verificationText(const storage::Verification& found, const std::string& path) {
    std::string text = asLine(fmt::format(
        "checked     {}: {} rows, {} chunks with {} events, {} memory states, {} pyramid segments",
        path, countText(found.rows), countText(found.chunks), countText(found.events.total()),
        countText(found.memoryStates), countText(found.pyramidSegments)));
    for (const std::string& note : found.notes)
        text += fmt::format("note        {}\n", quotedLines(note));
    for (const storage::Fault& fault : found.faults)
        text += fmt::format("fault       {}\n", quotedLines(fault.where + ": " + fault.what));
    if (found.faultCount > found.faults.size())
        text += fmt::format("fault       and {} more\n", found.faultCount - found.faults.size());
    return text + (found.sound() ? "sound       everything agrees\n"
                                 : fmt::format("unsound     {} faults: salvage what is left with "
                                               "{}\n",
                                               found.faultCount, storage::repairCommand(path)));
}

int verify(const InfoOptions& options) {
    const auto file = requireFile(options.place, "info --verify");
    const auto found = file ? storage::verifyRecording(options.place.path)
                            : Result<storage::Verification>(failure(file));
    if (!found) {
        tellError(found.error().message);
        return exitStatus(found.error());
    }
    return printLast(options.json ? verificationJson(*found) + '\n'
                                  : verificationText(*found, options.place.path),
                     found->sound() ? 0 : 1);
}

int run(const InfoOptions& options) {
    if (options.verify) return verify(options);
    auto reader = openAnyRecording(options.place);
    const auto summary = reader ? (*reader)->summary() : Result<RecordingSummary>(failure(reader));
    if (!summary) return tellFailure(options.place, summary.error());
    const bool running = reader->isRunning(summary->complete);
    return printLast(options.json ? infoJson(*summary, running) + '\n'
                                  : infoText(*summary, running, options.place.path));
}

}  // namespace

Command addInfo(CLI::App& root) {
    auto options = std::make_shared<InfoOptions>();
    CLI::App* app = addVerb(root, "info", "say what a recording holds");
    setFooter(
        *app,
        "With --verify the exit status is 0 when the recording is sound, 1 when it is not, 3 when\n"
        "it cannot be read.\n\n"
        "Examples:\n  shardscope info run.sscope\n  shardscope info --verify run.sscope");
    addOption(*app, "recording", options->place.path, "recording to describe, or ssh://HOST/PATH")
        .required();
    addJson(*app, options->json, "shardscope.info/1");
    addFlag(*app, "--verify", options->verify,
            "check every chunk and row, and print what was found (with --json: schema "
            "shardscope.verification/1)");
    addSshCommand(*app, options->place.sshCommand);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli

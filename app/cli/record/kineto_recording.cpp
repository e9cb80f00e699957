#include "app/cli/record/kineto_recording.h"

#include "app/cli/console.h"
#include "app/cli/record/kineto_options.h"
#include "app/cli/version.h"
#include "storage/interchange/import.h"
#include "storage/model/ids.h"
#include "storage/model/quantity_text.h"
#include "storage/model/recording.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace shardscope::cli {
namespace {

using interchange::ImportAccount;
using launch::kineto::Lost;
using launch::kineto::Outcome;
using launch::kineto::Taken;

constexpr const char* kRemedy =
    "Leave out --kineto to record the whole run with memory, groups and steps; start the program "
    "without `python -I` for that.";

std::vector<Diagnostic> diagnosticsOf(const Outcome& outcome, const WindowRecording& recording) {
    std::vector<Diagnostic> all;
    const auto add = [&](Severity severity, const char* code, const std::string& text,
                         const std::string& remedy, std::optional<RankId> rank) {
        all.push_back({severity, code, text, remedy, rank, Timestamp{}, 1});
    };
    add(Severity::kNote, "kineto-window",
        fmt::format("{} was recorded by PyTorch's own profiler (Kineto's on-demand requests): "
                    "nothing before and after it is known, there are no memory events, and "
                    "collectives of Gloo have neither group nor sequence",
                    windowText(recording.window)),
        kRemedy, std::nullopt);
    for (const Lost& lost : outcome.lost)
        add(Severity::kWarning, "rank-not-recorded", lossText(lost), "",
            lost.rank ? std::optional(RankId{static_cast<std::uint32_t>(*lost.rank)})
                      : std::nullopt);
    for (const std::string& note : outcome.notes)
        add(Severity::kNote, "process-left-out", note, "", std::nullopt);
    for (const std::string& note : recording.notes)
        add(Severity::kNote, "program-environment", note, "", std::nullopt);
    const auto there = static_cast<std::int32_t>(outcome.taken.size() + outcome.lost.size());
    if (outcome.ranks > there)
        add(Severity::kNote, "other-hosts",
            fmt::format("the program has {}; those of other hosts are not recorded",
                        counted(outcome.ranks, "rank")),
            "Run `shardscope attach` on each host, and join the recordings with `import`.",
            std::nullopt);
    return all;
}

Result<ImportAccount> importTaken(const Outcome& outcome, const WindowRecording& recording) {
    interchange::ImportOptions options;
    options.output = recording.output;
    options.overwrite = recording.overwrite;
    options.progress = recording.progress;
    interchange::TracedRun traced;
    std::vector<std::string> files;
    for (const Taken& each : outcome.taken) {
        files.push_back(each.trace);
        traced.ranks.push_back(RankId{static_cast<std::uint32_t>(each.rank)});
        traced.firstSteps.push_back(each.firstStep);
    }
    traced.worldSize = outcome.ranks;
    traced.commandLine = recording.commandLine;
    traced.product = productVersion();
    traced.diagnostics = diagnosticsOf(outcome, recording);
    traced.label = recording.label;
    options.traced = std::move(traced);
    return interchange::importTraces(files, options);
}

/// Each by itself, into a file that is not kept: what cannot be read is lost.
void loseUnreadable(Outcome& outcome, const WindowRecording& recording) {
    std::vector<Taken> sound;
    for (const Taken& each : outcome.taken) {
        interchange::ImportOptions options;
        options.output = each.trace + ".sscope";
        options.progress = recording.progress;
        const auto alone = interchange::importTraces({each.trace}, options);
        std::error_code ignored;
        std::filesystem::remove(options.output, ignored);
        if (alone)
            sound.push_back(each);
        else
            outcome.lost.push_back(
                {each.rank, each.pid, "its trace cannot be read: " + alone.error().message, false});
    }
    outcome.taken = std::move(sound);
}

}  // namespace

std::string lossText(const Lost& lost) {
    std::string who = lost.rank ? fmt::format("rank {}", *lost.rank) : "";
    if (lost.pid != 0)
        who += who.empty() ? fmt::format("process {}", lost.pid)
                           : fmt::format(" (process {})", lost.pid);
    return fmt::format("{} is not recorded: {}", who, lost.reason);
}

void tellRecorded(const ImportAccount& account, const Outcome& outcome, const std::string& output,
                  bool quiet) {
    for (const Lost& lost : outcome.lost) tellError(lossText(lost));
    if (quiet) return;
    tellLine(fmt::format("Recorded {} of {} in {}.", counted(account.kept, "event"),
                         counted(outcome.taken.size(), "rank"), output));
    tellLine("Next: shardscope report " + typedWord(output));
}

std::string nothingText(const Outcome& outcome) {
    std::string text = outcome.asked == 0
                           ? "no process asked for work, so nothing is recorded: is it a PyTorch "
                             "program, was it started with KINETO_USE_DAEMON=1?"
                           : "no rank has written a trace, so nothing is recorded";
    for (const Lost& lost : outcome.lost) text += "\n" + lossText(lost);
    for (const std::string& note : outcome.notes) text += "\n" + note;
    return text;
}

Result<ImportAccount> recordWindow(Outcome& outcome, const WindowRecording& recording) {
    const auto nothing = [&] {
        return failure(outcome.asked == 0 ? ErrorCode::kLaunch : ErrorCode::kRank,
                       nothingText(outcome));
    };
    if (outcome.taken.empty()) return nothing();
    auto account = importTaken(outcome, recording);
    if (account || account.error().code != ErrorCode::kUnreadable) return account;
    const std::size_t before = outcome.taken.size();
    loseUnreadable(outcome, recording);
    if (outcome.taken.empty()) return nothing();
    return outcome.taken.size() == before ? account : importTaken(outcome, recording);
}

}  // namespace shardscope::cli

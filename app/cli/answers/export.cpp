// `shardscope export`: a recording, or a part of it, in another format.
#include "storage/interchange/export.h"

#include "app/cli/answers/report_of.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "app/cli/record/part_words.h"
#include "engine/checkpoint/gpt2_names.h"
#include "engine/run/config/near_miss.h"
#include "profiler/analysis/part.h"
#include "profiler/analysis/report/report.h"
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/model/step_time.h"
#include "storage/recording/file/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>

namespace shardscope::cli {
namespace {

inline constexpr std::array kReports{"overview", "info", "verification"};

Result<std::string> verification(const RecordingPlace& place) {
    if (auto file = requireFile(place, "info --verify --json"); !file) return failure(file);
    const auto found = storage::verifyRecording(place.path);
    if (!found) return failure(found);
    return verificationJson(*found);
}

Result<std::string> documentOf(const RecordingPlace& place, const OpenedRecording& recording,
                               const std::string& report) {
    if (report == "verification") return verification(place);
    if (report != "overview" && report != "info")
        return failure(ErrorCode::kUsage, fmt::format("unknown report '{}': there is {}", report,
                                                      fmt::join(kReports, ", ")));
    if (report == "info") {
        const auto summary = recording->summary();
        if (!summary) return failure(summary);
        return infoJson(*summary, recording.isRunning(summary->complete));
    }
    auto overview = reportOf(*recording, false);
    if (!overview) return failure(overview);
    if (recording.isRunning(overview->finalised)) analysis::markRunning(*overview);
    return analysis::toJson(*overview);
}

/// Of the recording at `place` that `reader` reads. `report` is "overview" (what `report --json`
/// prints), "info" or "verification" (what `info --json` prints, without and with --verify). kUsage
/// for another, and for a part: reports are of whole recordings.
Result<interchange::ExportAccount> exportReport(const RecordingPlace& place,
                                                const OpenedRecording& recording,
                                                const std::string& report,
                                                const interchange::ExportOptions& options) {
    if (options.range || !options.ranks.empty())
        return failure(ErrorCode::kUsage,
                       "a report is of a whole recording: export the part with --format sscope "
                       "and report on that");
    const auto document = documentOf(place, recording, report);
    if (!document) return failure(document);
    auto writer =
        interchange::ExportWriter::open(interchange::outputOf(options, interchange::kReportFile));
    if (!writer) return failure(writer);
    writer->write(*document);
    writer->write("\n");
    if (auto done = writer->finish(); !done) return failure(done);
    return interchange::ExportAccount{0, {options.output}, {}};
}

using interchange::ExportAccount;
using interchange::ExportOptions;

struct Arguments {
    RecordingPlace place;
    std::string format;  ///< empty: by the output's name
    std::string range;
    std::string steps;
    std::string report = "overview";
    std::vector<std::uint32_t> ranks;
    ExportOptions options;
};

/// What is written of something else than a recording's events.
struct OtherFormat {
    const char* name;
    const char* what;
    const char* ending;
};
/// Format of an output whose name does not say it.
constexpr const char* kUsualFormat = "perfetto";
constexpr const char* kJson = "json";
constexpr const char* kSafetensors = "safetensors";
constexpr OtherFormat kOthers[] = {
    {kJson, "a report, see --report", ".json"},
    {kSafetensors, "weights by GPT-2's names, from a checkpoint's folder", ".safetensors"}};

std::string helpOf(const interchange::Format& format) {
    const std::string option = format.option;
    return option.empty() ? format.writes : format.writes + (", see " + option);
}

/// Calls `use` with the name of each format and what it is.
template <class Use>
void forEachFormat(Use use) {
    for (const interchange::Format& format : interchange::formats())
        if (format.write != nullptr) use(format.name, helpOf(format));
    for (const OtherFormat& format : kOthers) use(format.name, std::string(format.what));
}

std::vector<std::string> formatNames() {
    std::vector<std::string> names;
    forEachFormat([&](const char* each, const std::string&) { names.emplace_back(each); });
    return names;
}

/// The one whose files end as `path` does, the longest ending first; else the usual one.
std::string formatOf(std::string_view path) {
    std::string found;
    std::size_t longest = 0;
    const auto consider = [&](const char* name, std::string_view ending) {
        if (ending.empty() || ending.size() < longest) return;
        found = ending.size() > longest ? name : "";  // several end so
        longest = ending.size();
    };
    for (const interchange::Format& format : interchange::formats())
        if (format.write != nullptr) consider(format.name, interchange::endingOf(format, path));
    for (const OtherFormat& format : kOthers)
        if (path.ends_with(format.ending)) consider(format.name, format.ending);
    return found.empty() ? kUsualFormat : found;
}

Result<void> checkFormat(const std::string& name) {
    const std::vector<std::string> names = formatNames();
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    return failure(ErrorCode::kUsage,
                   fmt::format("unknown format '{}'{}: there is {}", name,
                               run::suggestion(name, names), fmt::join(names, ", ")));
}

/// Steps "3-5" or "4": from the first start to the last end on the ranks that are asked for.
Result<void> chooseSteps(const std::string& text, const RecordingSummary& summary,
                         ExportOptions& options) {
    std::int32_t first = -1, last = -1;
    const char* end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, first);
    last = first;
    if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == '-')
        parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc{} || parsed.ptr != end || first < 0 || last < first)
        return failure(ErrorCode::kUsage,
                       fmt::format("--steps {} names no steps: write FIRST-LAST, like 3-5", text));
    options.steps.emplace(StepIndex{first}, StepIndex{last});
    options.range = timeOfSteps(summary.steps, {first}, {last}, options.ranks);
    if (options.range) return {};
    return failure(
        ErrorCode::kUsage,
        fmt::format("the recording has no step {}: it has {} steps, counted from 0", text,
                    summary.steps.empty() ? 0 : summary.steps.back().step.value + 1));
}

Result<ExportAccount> writeWeights(const Arguments& arguments) {
    const auto checkpoint = checkpoint::Checkpoint::open(arguments.place.path);
    if (!checkpoint) return failure(checkpoint);
    auto request = interchange::outputOf(arguments.options, interchange::kSafetensorsFile);
    request.inputs = {checkpoint->path()};
    auto file = storage::OutputFile::reserve(request);
    if (!file) return failure(file);
    if (auto done = checkpoint::exportGpt2(*checkpoint, file->part()); !done)
        return failure(done, "writing " + arguments.options.output);
    if (auto done = file->commit(); !done) return failure(done);
    ExportAccount account;
    account.files.push_back(arguments.options.output);
    return account;
}

Result<ExportAccount> write(Arguments arguments) {
    arguments.options.inputs = {arguments.place.path};
    if (arguments.format.empty()) arguments.format = formatOf(arguments.options.output);
    if (auto known = checkFormat(arguments.format); !known) return failure(known);
    if (arguments.format == kSafetensors) return writeWeights(arguments);
    auto reader = openAnyRecording(arguments.place);
    if (!reader) return failure(reader);
    ExportOptions options = arguments.options;
    for (const std::uint32_t rank : arguments.ranks) options.ranks.push_back({rank});
    if (!arguments.range.empty()) {
        auto range = parseTimeRange(arguments.range);
        if (!range) return failure(range);
        options.range = *range;
    }
    if (!arguments.steps.empty()) {
        const auto summary = (*reader)->summary();
        if (!summary) return failure(summary);
        if (auto done = chooseSteps(arguments.steps, *summary, options); !done)
            return failure(done);
    }
    if (arguments.format == kJson)
        return exportReport(arguments.place, *reader, arguments.report, options);
    return interchange::writeAs(*interchange::findFormat(arguments.format), **reader, options);
}

int run(Arguments arguments) {
    const InterruptGuard guard;
    arguments.options.progress = [](double) { return !InterruptGuard::interrupted(); };
    const auto account = write(arguments);
    if (!account && account.error().code == ErrorCode::kCancelled) {
        tellError("export interrupted, no file was written");
        return static_cast<int>(ErrorCode::kInterrupted);
    }
    if (!account) return tellFailure(arguments.place, account.error());
    std::string text;
    for (const std::string& file : account->files) text += asLine("wrote       " + file);
    if (account->events > 0) text += fmt::format("events      {}\n", countText(account->events));
    for (const std::string& note : account->notes) text += asLine("note        " + note);
    return printLast(text);
}

std::string footer() {
    std::string text = "Formats:\n";
    forEachFormat([&](const char* name, const std::string& what) {
        text += fmt::format("  {:<17}{}\n", name, what);
    });
    return text +
           "\nEvents that reach into the part are kept whole.\n\nExamples:\n"
           "  shardscope export run.sscope --format sscope --steps 3-5 --output part.sscope\n"
           "  shardscope export run.sscope --format sscope --range 1.5:2 --ranks 0,2 -o "
           "part.sscope";
}

}  // namespace

Command addExport(CLI::App& root) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* app = addVerb(root, "export", "write a recording, or a part, to another file");
    setFooter(*app, footer());
    addOption(*app, "recording", arguments->place.path,
              "recording to read, or ssh://HOST/PATH, or a checkpoint")
        .required();
    addOption(*app, "--format", arguments->format,
              fmt::format("what to write, see below; not given: by the ending of "
                          "--output, else {}",
                          kUsualFormat))
        .offers("FORMAT", formatNames());
    addOutput(*app, arguments->options.output, "file to write; kineto: folder of several ranks")
        .required();
    const Option range =
        addOption(*app, "--range", arguments->range, "BEGIN:END in seconds, or with a unit");
    addOption(*app, "--steps", arguments->steps, "FIRST-LAST, whole steps").excludes(range);
    addRanks(*app, arguments->ranks);
    addOption(*app, "--view", arguments->options.view, "csv: " + interchange::csvViews());
    addOption(*app, "--report", arguments->report,
              "json: overview (as of `report --json`), info, verification")
        .offers("REPORT", {kReports.begin(), kReports.end()});
    addFlag(*app, "--hta", arguments->options.integerMicroseconds,
            "kineto: whole microseconds, because HTA rounds fractions away");
    addForce(*app, arguments->options.overwrite, "the output if it is of the same format");
    addSshCommand(*app, arguments->place.sshCommand);
    return {app, [arguments] { return run(*arguments); }};
}

}  // namespace shardscope::cli

// `shardscope report`: explains a run from its recording.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/kept_text.h"
#include "app/cli/open_recording.h"
#include "app/cli/report_of.h"
#include "app/cli/report_text.h"
#include "app/cli/shared_options.h"
#include "profiler/analysis/part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

namespace shardscope::cli {
namespace {

struct ReportOptions {
    RecordingPlace place;
    bool json = false;
    bool all = false;
    bool hta = false;  ///< HTA's numbers for ranks without a device as well
    bool fresh = false;
};

Result<Computed> computed(const ReportOptions& options) {
    const auto reader = openAnyRecording(options.place);
    if (!reader) return failure(reader);
    auto report = reportOf(**reader, options.hta);
    if (!report) return failure(report);
    if (reader->isRunning(report->finalised)) analysis::markRunning(*report);
    std::string text = options.json ? analysis::toJson(*report)
                                    : reportText(*report, options.place.path, options.all);
    return Computed{std::move(text) + '\n', report->finalised};
}

int run(const ReportOptions& options) {
    const std::string question =
        fmt::format("report {}{}{}", options.hta ? "--hta " : "", options.all ? "--all " : "",
                    options.json ? "--json" : options.place.path);
    const auto text =
        keptText(options.place, question, options.fresh, [&] { return computed(options); });
    if (!text) return tellFailure(options.place, text.error());
    const auto columns = options.json ? std::nullopt : terminalColumns(STDOUT_FILENO);
    return printLast(columns ? wrapped(*text, *columns) : *text);
}

}  // namespace

Command addReport(CLI::App& root) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* app = root.add_subcommand("report", "explain a run from its recording");
    app->footer("Example:\n  shardscope report run.sscope --json");
    app->add_option("recording", options->place.path, "recording to explain, or ssh://HOST/PATH")
        ->required();
    addJson(*app, options->json, "shardscope.report/1");
    app->add_flag("--all", options->all,
                  "show every rank and finding, not only the spread and the worst of many");
    app->add_flag("--hta", options->hta,
                  "HTA-compatible numbers also for ranks without a device, as exported");
    addFresh(*app, options->fresh);
    addSshCommand(*app, options->place.sshCommand);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli

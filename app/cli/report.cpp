// `shardscope report`: explains a run from its recording.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/open_recording.h"
#include "app/cli/report_of.h"
#include "app/cli/report_text.h"
#include "app/cli/shared_options.h"

#include <unistd.h>

#include <memory>

namespace shardscope::cli {
namespace {

struct ReportOptions {
    RecordingPlace place;
    bool json = false;
    bool all = false;
    bool hta = false;  ///< HTA's numbers for ranks without a device as well
};

int run(const ReportOptions& options) {
    auto reader = openAnyRecording(options.place);
    auto report =
        reader ? reportOf(**reader, options.hta) : Result<analysis::Report>(failure(reader));
    if (!report) return tellFailure(options.place, report.error());
    if (reader->isRunning(report->finalised)) markRunning(*report);
    if (options.json) return printLast(analysis::toJson(*report) + '\n');
    const std::string text = reportText(*report, options.place.path, options.all) + '\n';
    const auto columns = terminalColumns(STDOUT_FILENO);
    return printLast(columns ? wrapped(text, *columns) : text);
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
    addSshCommand(*app, options->place.sshCommand);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli

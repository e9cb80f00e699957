// `shardscope report`: explains a run from its recording.
#include "profiler/analysis/report/report.h"

#include "app/cli/answers/report_of.h"
#include "app/cli/answers/report_text.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/kept_text.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "app/manual/sheet_words.h"
#include "engine/launch/process.h"
#include "profiler/analysis/part.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

struct DashboardOptions {
    std::string output;  ///< .png, .svg or .pdf; empty: none is asked for
    std::string paper, size, theme;
    bool force = false;  ///< replaces a picture of the same kind
};

/// What shells and loaders end with where a program or a library of it is not found.
constexpr int kNotStarted = 127;

std::string desktopProgram() {
    const char* other = std::getenv("SHARDSCOPE_DESKTOP_PROGRAM");
    if (other != nullptr) return other;
    return (std::filesystem::path(launch::ownProgram()).parent_path() / "shardscope-desktop")
        .string();
}

std::vector<std::string> argumentsOf(const RecordingPlace& place, const DashboardOptions& options) {
    std::vector<std::string> words{"--dashboard", options.output};
    for (const auto& [flag, value] :
         {std::pair{"--paper", options.paper}, std::pair{"--size", options.size},
          std::pair{"--theme", options.theme}, std::pair{"--ssh-command", place.sshCommand}})
        if (!value.empty()) words.insert(words.end(), {flag, value});
    if (options.force) words.emplace_back("--force");
    words.insert(words.end(), {"--", place.path});
    return words;
}

int fail(const std::string& sentence) {
    tellError(sentence);
    return static_cast<int>(ErrorCode::kFailure);
}

/// The child's exit status; 128 + signal.
int waitFor(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs the shardscope-desktop beside this program and waits for it. Its exit status; kFailure with
/// a sentence where there is none, or it cannot start.
int drawDashboard(const RecordingPlace& place, const DashboardOptions& options) {
    const std::string program = desktopProgram();
    if (::access(program.c_str(), X_OK) != 0)
        return fail(fmt::format(
            "--dashboard is drawn by shardscope-desktop, and {} is not there: build with Qt 6, or "
            "install the package shardscope-desktop",
            program));
    launch::SpawnRequest request;
    request.program = program;
    request.arguments = argumentsOf(place, options);
    request.dieWithParent = true;
    const auto pid = launch::spawn(request);
    const int status = pid ? waitFor(*pid) : kNotStarted;
    if (status == kNotStarted)
        return fail(
            fmt::format("{} did not start; are the libraries of Qt 6 installed? "
                        "ldd {} names what is missing",
                        program, typedWord(program)));
    return status;
}

using manual::kPapers;
using manual::kThemes;

struct ReportOptions {
    RecordingPlace place;
    bool json = false;
    bool all = false;
    bool hta = false;  ///< HTA's numbers for ranks without a device as well
    bool fresh = false;
    DashboardOptions dashboard;
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
    if (!options.dashboard.output.empty()) return drawDashboard(options.place, options.dashboard);
    const std::string question =
        fmt::format("report {}{}{}", options.hta ? "--hta " : "", options.all ? "--all " : "",
                    options.json ? "--json" : options.place.path);
    const auto text =
        keptText(options.place, question, options.fresh, [&] { return computed(options); });
    if (!text) return tellFailure(options.place, text.error());
    const auto columns = options.json ? std::nullopt : terminalColumns(STDOUT_FILENO);
    return printLast(columns ? wrapped(*text, *columns) : *text);
}

Option addDashboard(CLI::App& app, DashboardOptions& options) {
    const Option dashboard =
        addOption(app, "--dashboard", options.output,
                  "draw the run on one sheet instead: .pdf, .svg or .png; needs "
                  "shardscope-desktop, but no display")
            .takes("FILE");
    addOption(app, "--paper", options.paper,
              fmt::format("of a dashboard: {} [{}]", fmt::join(kPapers, ", "), kPapers[0]))
        .offers("PAPER", {kPapers.begin(), kPapers.end()})
        .needs(dashboard);
    addOption(app, "--size", options.size, "of a dashboard in pixels, instead of the paper's shape")
        .takes("WxH")
        .needs(dashboard);
    addOption(app, "--theme", options.theme,
              fmt::format("of a dashboard: {} [{}]", fmt::join(kThemes, ", "), kThemes[0]))
        .offers("THEME", {kThemes.begin(), kThemes.end()})
        .needs(dashboard);
    addForce(app, options.force, "the file of a dashboard if it is such a picture")
        .needs(dashboard);
    return dashboard;
}

}  // namespace

Command addReport(CLI::App& root) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* app = addVerb(root, "report", "explain a run from its recording");
    setFooter(*app,
              "Examples:\n  shardscope report run.sscope --json\n"
              "  shardscope report run.sscope --dashboard run.pdf --paper a3");
    addOption(*app, "recording", options->place.path, "recording to explain, or ssh://HOST/PATH")
        .required();
    const Option json = addJson(*app, options->json, "shardscope.report/1");
    addDashboard(*app, options->dashboard).excludes(json);
    addFlag(*app, "--all", options->all,
            "show every rank and finding, not only the spread and the worst of many");
    addFlag(*app, "--hta", options->hta,
            "HTA-compatible numbers also for ranks without a device, as exported");
    addFresh(*app, options->fresh);
    addSshCommand(*app, options->place.sshCommand);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli

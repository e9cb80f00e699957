// `shardscope attach`: a window of programs that run already.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "app/cli/options.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/kineto_options.h"
#include "app/cli/record/kineto_recording.h"
#include "app/cli/record/kineto_run.h"
#include "app/cli/record/label_options.h"
#include "app/cli/record/record_options.h"
#include "storage/model/quantity_text.h"
#include "storage/recording/file/output_file.h"

#include <fmt/format.h>
#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using launch::kineto::Outcome;

constexpr const char* kFooter =
    R"(Programs that were started with KINETO_USE_DAEMON=1 ask once in 5 seconds whether they shall record
something of themselves; this answers them. Without PIDs all of this user's that ask are recorded,
as ranks of one program. A launcher's PID stands for the ranks that it has started.

Examples:
  KINETO_USE_DAEMON=1 torchrun --nproc-per-node 2 train.py &
  shardscope attach -o run.sscope
  shardscope attach -o run.sscope --window 2s 4711 4712
  shardscope attach -o run.sscope --window-steps 3 --from-step 100

Exit status: 0 all ranks were recorded, 2 usage, 4 none asked, 5 a rank is missing, 130 interrupted,
1 another daemon has the socket, or the recording cannot be written.)";

struct AttachOptions {
    std::vector<std::uint32_t> pids;
    std::string output;
    bool force = false;
    bool quiet = false;
    KinetoOptions kineto{"0s"};
    LabelOptions label;
};

/// Where those processes look for their daemon; empty: at the machine's name.
Result<std::string> folderOf(const AttachOptions& options) {
    if (!options.kineto.socketFolder().empty()) return options.kineto.socketFolder();
    std::optional<std::string> folder;
    for (const std::uint32_t pid : options.pids) {
        const auto look = launch::kineto::ProcessEyes().look(static_cast<pid_t>(pid));
        if (!look.readable) continue;
        if (folder && *folder != look.socketFolder)
            return failure(ErrorCode::kUsage,
                           "these processes look for their daemon in different places: name those "
                           "of one program");
        folder = look.socketFolder;
    }
    return folder.value_or("");
}

Result<std::unique_ptr<KinetoRun>> openRun(const AttachOptions& options) {
    auto request = options.kineto.request();
    if (!request) return failure(request);
    auto folder = folderOf(options);
    if (!folder) return failure(folder);
    request->socketFolder = *folder;
    for (const std::uint32_t pid : options.pids) request->only.push_back(static_cast<pid_t>(pid));
    return KinetoRun::open(std::move(*request), KinetoRun::At::kMachine);
}

/// Until the window is over or the user wants no more.
void follow(KinetoRun& run, bool quiet) {
    constexpr int kTurnMs = 200;
    bool begun = false;
    while (!run.session().isOver()) {
        pollfd waited{run.fd(), POLLIN, 0};
        ::poll(&waited, 1, kTurnMs);
        run.turn();
        if (InterruptGuard::interrupted())
            run.session().stop("the recording was interrupted before the window was over");
        if (quiet || begun || !run.session().hasBegun() || run.session().isOver()) continue;
        begun = true;
        tellLine(fmt::format("{} there: recording {}; Ctrl-C ends it",
                             counted(run.session().progress().first, "rank"),
                             windowText(run.request().window)));
    }
}

Result<interchange::ImportAccount> make(Outcome& outcome, const KinetoRun& run,
                                        const std::string& output, const RunLabel& label,
                                        const AttachOptions& options) {
    const int before = InterruptGuard::times();
    ProgressLine line("importing", !options.quiet);
    WindowRecording recording;
    recording.output = output;
    recording.overwrite = options.force;
    recording.commandLine = "shardscope attach";
    recording.window = run.request().window;
    recording.label = label;
    recording.progress = [&](double share) {
        line.show(share);
        return InterruptGuard::times() == before;
    };
    return recordWindow(outcome, recording);
}

Result<int> attach(const AttachOptions& options) {
    const auto label = options.label.label();
    if (!label) return failure(label);
    auto output =
        wholePath(options.output.empty() ? RecordOptions::defaultOutput() : options.output);
    if (!output) return failure(output);
    if (auto settled = storage::settleOutput({*output, options.force}); !settled)
        return failure(settled);
    const InterruptGuard guard;
    auto run = openRun(options);
    if (!run) return failure(run);
    follow(**run, options.quiet);
    const bool interrupted = InterruptGuard::interrupted();
    Outcome outcome = (*run)->session().outcome();
    const auto made = make(outcome, **run, *output, *label, options);
    if (!made && interrupted) return failure(ErrorCode::kInterrupted, made.error().message);
    if (!made) return failure(made);
    tellRecorded(*made, outcome, *output, options.quiet);
    if (interrupted) return static_cast<int>(ErrorCode::kInterrupted);
    return outcome.lost.empty() ? 0 : static_cast<int>(ErrorCode::kRank);
}

int runAttach(const AttachOptions& options) {
    const auto status = attach(options);
    if (status) return *status;
    tellError(status.error().message);
    return status.error().code == ErrorCode::kCancelled ? static_cast<int>(ErrorCode::kInterrupted)
                                                        : exitStatus(status.error());
}

}  // namespace

Command addAttach(CLI::App& root) {
    auto options = std::make_shared<AttachOptions>();
    CLI::App* app = addVerb(root, "attach", "record a window of PyTorch programs that run already");
    setFooter(*app, kFooter);
    addOption(*app, "pids", options->pids, "processes, or launchers of them [all that ask]")
        .takes("PID");
    addOutput(*app, options->output, "recording to write [run-DATE-TIME.sscope]");
    addForce(*app, options->force, kAnOldRecording);
    options->label.addTo(*app);
    options->kineto.addTo(*app);
    options->kineto.addStacksTo(*app, "Python functions too; the window slows ranks more then")
        .under(kKinetoHeading);
    addQuiet(*app, options->quiet);
    return {app, [options] { return runAttach(*options); }};
}

}  // namespace shardscope::cli

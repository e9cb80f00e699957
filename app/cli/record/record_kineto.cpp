#include "app/cli/console.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/kineto_recording.h"
#include "app/cli/record/kineto_run.h"
#include "app/cli/record/passed_signals.h"
#include "app/cli/record/record_modes.h"
#include "engine/launch/program/program_environment.h"
#include "engine/launch/program/program_start.h"
#include "engine/launch/program/program_supervisor.h"
#include "storage/model/shell_word.h"
#include "storage/recording/file/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using interchange::ImportAccount;
using launch::kineto::Outcome;

/// Of a process whose settings are not ours.
constexpr launch::kineto::Milliseconds kKinetosInterval{5000}, kOurInterval{1000};

/// Makes the recording as soon as the window is over, beside the program that goes on.
class WindowRecorder : public launch::RunSink {
public:
    WindowRecorder(KinetoRun& run, WindowRecording recording)
        : m_run(run), m_recording(std::move(recording)) {
        m_recording.progress = [this](double) { return !m_cancelled; };
    }

    void hostReady(const HostFacts&) override {}
    void message(RankId, const run::Message&) override {}
    void chunk(RankId, std::span<const std::byte>) override {}
    void tick() override {
        m_run.turn();
        if (m_run.session().isOver() && !m_made.valid()) make();
    }

    /// The program has ended. `cancelled`: the user wants to wait no longer.
    Result<ImportAccount> finish(const std::function<bool()>& cancelled) {
        m_run.session().stop("the program ended before the window was over");
        if (!m_made.valid()) make();
        while (m_made.wait_for(std::chrono::milliseconds{100}) != std::future_status::ready)
            if (cancelled()) m_cancelled = true;
        return m_made.get();
    }
    [[nodiscard]] const Outcome& outcome() const { return m_outcome; }

private:
    void make() {
        m_outcome = m_run.session().outcome();
        m_made =
            std::async(std::launch::async, [this] { return recordWindow(m_outcome, m_recording); });
    }

    KinetoRun& m_run;
    WindowRecording m_recording;
    std::atomic<bool> m_cancelled = false;
    Outcome m_outcome;  ///< the thread's until m_made is there
    std::future<Result<ImportAccount>> m_made;
};

/// What says how much of a program is recorded means nothing to PyTorch's profiler.
Result<std::string> outputOf(const RecordOptions& options) {
    for (const run::RunOption& option : run::runOptions()) {
        if (option.key == std::string("output") || !options.flags().given(option.key)) continue;
        return failure(ErrorCode::kUsage,
                       fmt::format("{} means nothing with --kineto, where PyTorch's profiler "
                                   "records a window; leave one of them out",
                                   option.flag));
    }
    if (!options.runFile().empty() || !options.stepRange.empty())
        return failure(ErrorCode::kUsage,
                       "run files and --step-range mean nothing with --kineto; leave them out");
    const std::string given = options.flags().text("output");
    auto whole = wholePath(given.empty() ? RecordOptions::defaultOutput() : given);
    if (!whole) return whole;
    if (auto settled = storage::settleOutput({*whole, options.force}); !settled)
        return failure(settled);
    return whole;
}

Result<std::unique_ptr<KinetoRun>> openRun(const RecordOptions& options) {
    auto request = options.kineto.request();
    if (!request) return failure(request);
    const char* given = std::getenv("KINETO_IPC_SOCKET_DIR");
    request->socketFolder = options.kineto.socketFolder();
    if (request->socketFolder.empty() && given != nullptr) request->socketFolder = given;
    request->root = ::getpid();
    request->endless = true;
    request->interval = std::getenv("KINETO_CONFIG") == nullptr ? kOurInterval : kKinetosInterval;
    auto run = KinetoRun::open(std::move(*request), KinetoRun::At::kFolder);
    if (run)
        if (auto written = launch::writeKinetoSettings((*run)->folder()); !written)
            return failure(written);
    return run;
}

std::string commandLine(const RecordOptions& options) {
    std::string text = "shardscope record --kineto --";
    for (const std::string& word : options.program) text += " " + typedWord(word);
    return text;
}

void report(const Result<ImportAccount>& made, const Outcome& outcome, const std::string& output,
            bool quiet) {
    if (!made) return tellError(made.error().message);
    tellRecorded(*made, outcome, output, quiet);
}

/// The program's exit status.
Result<int> runProgram(const RecordOptions& options) {
    const auto output = outputOf(options);
    if (!output) return failure(output);
    const auto label = options.labelOptions.label();
    if (!label) return failure(label);
    auto run = openRun(options);
    if (!run) return failure(run);
    auto signals = PassedSignals::open();
    if (!signals) return failure(signals);
    const launch::ProgramEnvironment environment = launch::kinetoEnvironment(
        (*run)->request().socketFolder, (*run)->folder(), (*run)->request().folder);
    WindowRecording recording{
        *output,           options.force, commandLine(options), (*run)->request().window, {},
        environment.notes, *label};
    WindowRecorder recorder(**run, std::move(recording));
    launch::ProgramRequest request;
    request.command = options.program;
    launch::ProgramSupervisor program(std::move(request), recorder);
    program.setEnvironment(environment.added);
    program.watch((*run)->fd(), [&run] {
        (*run)->turn();
        return true;
    });
    signals->attach(program);
    const launch::ProgramOutcome ended = program.run();
    if (ended.notStarted) {
        tellError(ended.notStarted->message);
        return launch::kNotExecutable;
    }
    const auto made = recorder.finish([&signals] { return signals->askedToStop(); });
    report(made, recorder.outcome(), *output, options.quiet);
    return ended.end.code ? *ended.end.code : 128 + ended.end.signal.value_or(0);
}

}  // namespace

int recordKineto(const RecordOptions& options) {
    if (const auto obstacle = launch::startObstacle(options.program.front())) {
        tellError(obstacle->message);
        return obstacle->status;
    }
    const auto status = runProgram(options);
    if (status) return *status;
    tellError(status.error().message);
    return exitStatus(status.error());
}

}  // namespace shardscope::cli

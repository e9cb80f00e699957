#include "app/cli/bench/measured_run.h"

#include "app/cli/hosts/run_hosts.h"
#include "app/cli/interruptible.h"
#include "app/cli/record/data_path.h"
#include "app/cli/version.h"
#include "engine/launch/host_facts.h"
#include "engine/launch/process.h"
#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_option.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/host_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/read/recording_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

namespace shardscope::cli {
namespace {

using Json = nlohmann::json;

/// As `record` stores it, but for where it is stored.
Result<run::RunConfig> asRecorded(run::RunConfig config) {
    if (config.data.empty()) {
        auto tree = ownSourceTree();
        if (!tree) return failure(tree);
        config.data = *tree;
    }
    if (auto settled = HostFlags().settle(config, true); !settled) return failure(settled);
    if (auto settled = settleData(config); !settled) return failure(settled);
    settleThreads(config);
    for (std::string* path : {&config.checkpoint, &config.weights}) {
        auto whole = wholePath(*path);
        if (!whole) return failure(whole);
        *path = *whole;
    }
    config.output.clear();
    return config;
}

/// "steps is 20 there and 40 here"; empty: nothing.
std::string differenceOf(const run::RunConfig& there, const run::RunConfig& here) {
    const auto text = [](const run::OptionValue& value) {
        return std::visit([](const auto& each) { return fmt::format("{}", each); }, value);
    };
    for (const run::RunOption& option : run::runOptions())
        if (!option.isSame(there, here))
            return fmt::format("{} is {} there and {} here", option.key, text(option.get(there)),
                               text(option.get(here)));
    return {};
}

std::string differentMachine(const RecordingSummary& summary) {
    const HostFacts here = launch::hostFacts();
    if (summary.run.product != productVersion())
        return fmt::format("it was made by {}", summary.run.product);
    if (summary.hosts.empty()) return {};
    const HostFacts& there = summary.hosts.front();
    if (there.name != here.name || there.cpu != here.cpu)
        return fmt::format("it was made on {} ({})", there.name, there.cpu);
    return {};
}

Result<OutputState> stateOf(const RecordingSummary& summary, const run::RunConfig& config) {
    if (!summary.complete || summary.run.status != RunStatus::kFinished)
        return OutputState::kNothing;
    const auto refuse = [&](const std::string& why) {
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is a finished recording of something else: {}; choose "
                                   "another folder with --output, or replace it with --force",
                                   config.output, why));
    };
    auto there = run::parseRunConfigJson(summary.run.configJson);
    if (!there) return refuse(there.error().message);
    there->output.clear();
    const auto here = asRecorded(config);
    if (!here) return failure(here);
    if (const std::string why = differenceOf(*there, *here); !why.empty()) return refuse(why);
    if (const std::string why = differentMachine(summary); !why.empty()) return refuse(why);
    return OutputState::kMeasured;
}

std::string runFileOf(const std::string& output) {
    return std::filesystem::path(output).replace_extension(".toml").string();
}

/// In the folder of a bench or of tune, where one of an earlier run may be replaced.
Result<void> writeRunFile(const run::RunConfig& config, const std::string& path) {
    return storage::writeOutput({path, true, kSavedRunFile}, run::toToml(config));
}

/// Which the command line of this process has said or allowed.
bool namesCommands(run::RunConfig config) {
    if (auto hosts = hostText(config.hosts)) config.hosts = std::move(*hosts);
    return !run::commandsOf(config).empty();
}

/// What a child said and how it ended.
struct Said {
    std::string out, err;
    launch::ProcessEnd end;
};

class Child {
public:
    static Result<Child> start(const std::vector<std::string>& arguments) {
        Child child;
        FileDescriptor out, err, input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!pipeInto(child.m_out, out) || !pipeInto(child.m_err, err) || !input.valid())
            return failure(ErrorCode::kLaunch,
                           fmt::format("no pipe to start a run: {}", std::strerror(errno)));
        launch::SpawnRequest request;
        request.program = launch::ownProgram();
        request.arguments = arguments;
        request.descriptors = {{input.get(), 0}, {out.get(), 1}, {err.get(), 2}};
        request.ownGroup = true;
        request.dieWithParent = true;
        auto pid = launch::spawn(request);
        if (!pid) return failure(pid);
        child.m_pid = *pid;
        return child;
    }

    /// Until it ends; hands every interruption on.
    Said wait() {
        Said said;
        int handedOn = 0;
        while (true) {
            for (; handedOn < InterruptGuard::times(); ++handedOn) ::kill(m_pid, SIGINT);
            const auto end = launch::reap(m_pid);
            readWhatIsThere(end ? 0 : kGlance, said);
            if (!end) continue;
            said.end = *end;
            return said;
        }
    }

private:
    static constexpr int kGlance = 100;  ///< milliseconds

    static bool pipeInto(FileDescriptor& read, FileDescriptor& write) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
        read = FileDescriptor(ends[0]);
        write = FileDescriptor(ends[1]);
        return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
    }

    void readWhatIsThere(int wait, Said& said) {
        std::array<pollfd, 2> polled{pollfd{m_out.get(), POLLIN, 0},
                                     pollfd{m_err.get(), POLLIN, 0}};
        ::poll(polled.data(), polled.size(), wait);
        readAll(m_out, said.out);
        readAll(m_err, said.err);
    }

    static void readAll(FileDescriptor& from, std::string& to) {
        std::array<char, 4096> buffer;
        while (from.valid()) {
            const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
            if (count > 0) to.append(buffer.data(), static_cast<std::size_t>(count));
            if (count == 0) from.reset();
            if (count <= 0) return;
        }
    }

    pid_t m_pid = -1;
    FileDescriptor m_out, m_err;
};

/// The exit status as the code that stands for it.
ErrorCode codeOf(const launch::ProcessEnd& end) {
    switch (end.code.value_or(1)) {
        case 2:
            return ErrorCode::kUsage;
        case 3:
            return ErrorCode::kUnreadable;
        case 4:
            return ErrorCode::kLaunch;
        case 5:
            return ErrorCode::kRank;
        case 130:
            return ErrorCode::kInterrupted;
        default:
            return ErrorCode::kFailure;
    }
}

Error errorOf(const Said& said, const Json& document, const std::string& output) {
    const ErrorCode code =
        InterruptGuard::interrupted() ? ErrorCode::kInterrupted : codeOf(said.end);
    std::string why = document.is_object() ? document.value("message", "") : "";
    if (why.empty()) why = launch::lastLineOf(said.err);
    if (why.empty() && said.end.signal) why = "ended by " + launch::signalText(*said.end.signal);
    if (why.empty()) why = code == ErrorCode::kInterrupted ? "interrupted" : "it gave no reason";
    return {code, fmt::format("{}: {}", std::filesystem::path(output).stem().string(), why)};
}

}  // namespace

Result<OutputState> lookAtOutput(const run::RunConfig& config) {
    std::error_code ignored;
    if (!std::filesystem::exists(config.output, ignored)) return OutputState::kNothing;
    auto reader = storage::openRecording(config.output, 1);
    if (!reader)
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is in the way: {}", config.output, reader.error().message));
    const auto summary = (*reader)->summary();
    if (!summary) return failure(summary);
    return stateOf(*summary, config);
}

Result<MeasuredRun> measureRun(const run::RunConfig& config, bool force) {
    const auto state = lookAtOutput(config);
    if (!state && !force) return failure(state);
    if (state && *state == OutputState::kMeasured)
        return MeasuredRun{config.output, true, config.steps};
    const std::string runFile = runFileOf(config.output);
    if (auto written = writeRunFile(config, runFile); !written) return failure(written);
    // What lies there is a recording that was not finished, or to be replaced.
    std::vector<std::string> words{"record",  runFile,         "--json", "--quiet",
                                   "--force", "--launched-by", "none"};
    if (namesCommands(config)) words.emplace_back("--allow-commands");
    auto child = Child::start(words);
    if (!child) return failure(child);
    const Said said = child->wait();
    const Json document = Json::parse(said.out, nullptr, false);
    if (said.end.code != 0 || !document.is_object())
        return tl::unexpected<Error>(errorOf(said, document, config.output));
    return MeasuredRun{config.output, false, document.value("steps_done", 0)};
}

}  // namespace shardscope::cli

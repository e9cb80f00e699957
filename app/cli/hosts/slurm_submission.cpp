#include "app/cli/console.h"
#include "app/cli/hosts/launched_tasks.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/program_recording.h"
#include "app/cli/record/record_options.h"
#include "app/cli/record/run_requests.h"
#include "engine/launch/process.h"
#include "engine/launch/slurm/slurm_job.h"
#include "engine/run/config/run_option.h"
#include "storage/model/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

using launch::SlurmState;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{200};
/// Slurm's controller has others to answer too.
constexpr std::chrono::seconds kBetweenQuestions{1};
/// A shared file system may show a file's end seconds after its job's.
constexpr std::chrono::seconds kOutputDelay{10};
constexpr std::chrono::seconds kQuiet{1};
constexpr std::size_t kLongestLine = 65536;  ///< that is printed in one piece

std::string randomToken() {
    std::random_device random;
    std::string token;
    for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
    return token;
}

/// In sbatch's patterns a percent sign stands for something.
std::string asPattern(const std::string& path) {
    std::string pattern;
    for (const char c : path) pattern += c == '%' ? "%%" : std::string(1, c);
    return pattern;
}

/// What a job writes, as far as it can be read here.
class JobOutput {
public:
    explicit JobOutput(std::string path) : m_path(std::move(path)) {}

    /// Prints what is new; whether there was anything.
    bool pass() {
        if (!m_file.valid()) m_file = FileDescriptor(::open(m_path.c_str(), O_RDONLY | O_CLOEXEC));
        bool any = false;
        std::array<char, 16384> buffer;
        for (ssize_t count = 0;
             m_file.valid() && (count = ::read(m_file.get(), buffer.data(), buffer.size())) > 0;) {
            m_rest.append(buffer.data(), static_cast<std::size_t>(count));
            any = true;
        }
        tellLines();
        m_any = m_any || any;
        return any;
    }
    /// Until nothing more comes; where nothing has come at all, for longer.
    void passRest() {
        const auto begun = Clock::now();
        for (auto last = begun; Clock::now() - last < (m_any ? kQuiet : kOutputDelay);) {
            if (pass()) last = Clock::now();
            ::poll(nullptr, 0, static_cast<int>(kTurn.count()));
        }
        tell(std::exchange(m_rest, {}));
        if (!m_any)
            tellError(
                fmt::format("the job's output {} is not here; it is where the job ran, "
                            "unless that file system is shared",
                            m_path));
    }

private:
    /// Whole ones, unless one is very long: half a character is not text.
    void tellLines() {
        const std::size_t end = m_rest.rfind('\n');
        const std::size_t whole = end != m_rest.npos             ? end + 1
                                  : m_rest.size() > kLongestLine ? m_rest.size()
                                                                 : 0;
        tell(std::string_view(m_rest).substr(0, whole));
        m_rest.erase(0, whole);
    }

    std::string m_path;
    FileDescriptor m_file;
    std::string m_rest;  ///< of the last line
    bool m_any = false;
};

class Followed {
public:
    Followed(std::string job, const std::string& outputBase, SignalRequests& signals, bool quiet)
        : m_job(std::move(job)),
          m_output(fmt::format("{}.slurm-{}.out", outputBase, m_job)),
          m_signals(signals),
          m_quiet(quiet) {}

    int toItsEnd() {
        auto next = Clock::now();
        while (true) {
            if (Clock::now() >= next) {
                if (!ask()) break;
                next = Clock::now() + kBetweenQuestions;
            }
            heedSignals();
            m_output.pass();
            ::poll(nullptr, 0, static_cast<int>(kTurn.count()));
        }
        m_output.passRest();
        return status();
    }

private:
    /// False: it is over, or Slurm does not know it.
    bool ask() {
        auto state = launch::slurmStateOf(m_job);
        if (!state) {
            if (!std::exchange(m_unanswered, true))
                tellError(
                    fmt::format("Slurm does not answer ({}); asking on", state.error().message));
            return true;
        }
        m_unanswered = false;
        if (!*state) {
            m_forgotten = true;
            return false;
        }
        if (m_state.word != (*state)->word || m_state.reason != (*state)->reason) say(**state);
        m_state = **state;
        return !m_state.isOver();
    }

    void say(const SlurmState& state) const {
        if (m_quiet || state.isOver() || state.word == "COMPLETING") return;
        std::string text = fmt::format("job {}: {}", m_job, lower(state.word));
        if (!state.nodes.empty()) text += " on " + state.nodes;
        if (state.isPending() && state.reason != "None") text += fmt::format(" ({})", state.reason);
        tellLine(text);
    }

    static std::string lower(std::string word) {
        for (char& c : word)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return word;
    }

    void heedSignals() {
        const int asked = m_signals.timesAsked();
        if (asked <= m_heeded) return;
        const bool softly = asked == 1 && m_state.word == "RUNNING";
        m_heeded = asked;
        tellLine(softly
                     ? fmt::format("job {}: stopping after this step; once more cancels it", m_job)
                     : fmt::format("job {}: cancelling", m_job));
        const auto done = softly ? launch::interruptSlurmJob(m_job) : launch::cancelSlurmJob(m_job);
        if (!done) tellError(done.error().message);
    }

    [[nodiscard]] int status() const {
        if (m_forgotten) {
            tellError(fmt::format(
                "Slurm no longer knows job {}, and its end was not seen; its output and the "
                "recording show whether it succeeded",
                m_job));
            return static_cast<int>(ErrorCode::kFailure);
        }
        if (m_state.exitCode != 0) return m_state.exitCode;
        if (m_state.word == "COMPLETED") return 0;
        if (m_heeded > 0) return static_cast<int>(ErrorCode::kInterrupted);
        tellError(fmt::format(
            "job {} ended as {}{}{}", m_job, m_state.word,
            m_state.signal != 0 ? fmt::format(" by {}", launch::signalText(m_state.signal)) : "",
            m_state.reason == "None" ? "" : " (" + m_state.reason + ")"));
        return static_cast<int>(ErrorCode::kLaunch);
    }

    std::string m_job;
    JobOutput m_output;
    SignalRequests& m_signals;
    bool m_quiet;
    SlurmState m_state;
    bool m_unanswered = false;
    bool m_forgotten = false;
    int m_heeded = 0;  ///< signals that were acted on
};

/// Whether options of sbatch say how many tasks there are.
bool sayTasks(const std::vector<std::string>& options) {
    return std::any_of(options.begin(), options.end(), [](const std::string& word) {
        return word.starts_with("-n") || word.starts_with("-N") || word.starts_with("--ntasks") ||
               word.starts_with("--nodes");
    });
}

/// The tasks are what counts.
void withoutRanks(std::vector<std::string>& words) {
    const auto at = std::find(words.begin(), words.end(), "--ranks");
    if (at != words.end() && at + 1 != words.end()) words.erase(at, at + 2);
}

/// Of a program: what was said, and nothing of a training of our own.
std::vector<std::string> givenArguments(const RecordOptions& options,
                                        const run::RunConfig& config) {
    std::vector<std::string> words = {"--output", config.output};
    for (const run::RunOption& option : run::runOptions())
        if (options.flags().given(option.key) && std::string_view(option.key) != "output")
            words.insert(words.end(), {option.flag, options.flags().text(option.key)});
    return words;
}

/// What is said of a program, and its own words.
void addProgram(const RecordOptions& options, std::vector<std::string>& words) {
    const auto add = [&words](const char* name, const std::string& value) {
        if (!value.empty()) words.insert(words.end(), {name, value});
    };
    add("--step-range", options.stepRange);
    add("--folder", options.folder);
    if (options.kineto.stacks()) words.emplace_back("--stacks");
    if (options.keepLast) add("--keep-last", fmt::format("{}", *options.keepLast));
    if (options.stall) add("--stall", fmt::format("{}", *options.stall));
    for (const std::string& each : options.environment) add("--env", each);
    words.emplace_back("--");
    words.insert(words.end(), options.program.begin(), options.program.end());
}

struct Submission {
    std::string output;                ///< the recording
    std::vector<std::string> options;  ///< of sbatch
    std::vector<std::string> words;    ///< of the job
};

Result<Submission> prepare(RecordOptions& options) {
    if (options.json || !options.control.empty())
        return failure(ErrorCode::kUsage,
                       "--json and --control need a run in this process, and --slurm runs it in a "
                       "job; leave one of them out");
    auto config = options.program.empty() ? options.config() : programConfig(options);
    if (!config) return failure(config);
    if (!config->hosts.empty())
        return failure(ErrorCode::kUsage,
                       "--slurm runs on the hosts that Slurm gives; leave out --hosts (hosts of "
                       "the run file), and say with --slurm which ones");
    const auto label = options.labelOptions.label(options.label());
    if (!label) return failure(label);
    auto sbatch = launch::optionWords(options.slurm);
    if (!sbatch) return failure(sbatch, "--slurm");
    Submission made{config->output, std::move(*sbatch), {launch::ownProgram(), "record"}};
    if (made.output.empty()) made.output = config->output = options.defaultOutput();
    auto whole = wholePath(made.output);
    if (!whole) return failure(whole);
    made.output = config->output = *whole;
    // A rank a task, unless tasks are counted in the options: then --ranks is for the job to judge.
    const bool ranksForJob = sayTasks(made.options) && options.givesRanks();
    const int tasks = options.program.empty() ? config->ranks : 1;
    if (!sayTasks(made.options)) made.options.push_back(fmt::format("--ntasks={}", tasks));
    for (std::string& word :
         options.program.empty() ? options.arguments(*config) : givenArguments(options, *config))
        made.words.push_back(std::move(word));
    for (std::string& word : labelArguments(*label)) made.words.push_back(std::move(word));
    withoutRanks(made.words);
    if (ranksForJob) {
        made.words.emplace_back("--ranks");
        made.words.push_back(std::to_string(config->ranks));
    }
    for (const char* word : {"--launched-by", "slurm"}) made.words.emplace_back(word);
    if (options.allowCommands) made.words.emplace_back("--allow-commands");
    if (options.force) made.words.emplace_back("--force");
    if (options.quiet) made.words.emplace_back("--quiet");
    if (!options.program.empty()) addProgram(options, made.words);
    return made;
}

int complain(const Error& error) {
    tellError(error.message);
    return exitStatus(error);
}

}  // namespace

int recordBySlurm(RecordOptions& options) {
    const launch::TaskTrust& trust = options.taskOptions.trust;
    if (!trust.tokenFile.empty() || trust.trustNetwork)
        return complain({ErrorCode::kUsage,
                         "--slurm gives the job's tasks its own secret; leave out "
                         "--task-token-file and --trust-network"});
    const auto submission = prepare(options);
    if (!submission) return complain(submission.error());
    auto signals = SignalRequests::open();
    if (!signals) return complain(signals.error());
    const auto job =
        launch::submitToSlurm(launch::slurmScript(submission->words, randomToken()),
                              submission->options, asPattern(submission->output) + ".slurm-%j.out");
    if (!job) return complain(job.error());
    if (!options.quiet)
        tellLine(fmt::format("job {}: submitted; its output is in {}.slurm-{}.out", *job,
                             submission->output, *job));
    return Followed(*job, submission->output, *signals, options.quiet).toItsEnd();
}

}  // namespace shardscope::cli

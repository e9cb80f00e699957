// `shardscope calibrate`: measures the machine and what joins its ranks, and keeps it.
#include "app/cli/answers/answer_text.h"
#include "app/cli/bench/measured_run.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/interruptible.h"
#include "app/cli/options.h"
#include "app/cli/record/measured_recording.h"
#include "app/cli/record/run_flags.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/machine_figure.h"
#include "engine/run/config/measurement_plan.h"
#include "profiler/planning/calibration_store.h"
#include "profiler/questions/answer/calibration_answer.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace shardscope::cli {
namespace {

using planning::Calibration;

constexpr const char* kExamples =
    R"(Below 30 s, with --quick about 4 s, where ranks have a core each; on slow machines fewer rounds are
taken, which is said. What was measured of other numbers of ranks and other communicators stays.
`plan` predicts with it what a step takes, and MFU goes by the best products found.

Examples:
  shardscope calibrate
  shardscope calibrate --quick --ranks 4
  shardscope calibrate --device cuda --ranks 8
  shardscope calibrate --hosts node-a:4,node-b:4
  shardscope calibrate --show)";

struct CalibrateOptions {
    RunFlags flags;
    HostFlags hosts;
    bool quick = false, show = false, json = false, quiet = false;
};

bool isOffered(const run::RunOption& option) {
    constexpr std::array kKeys{std::string_view("ranks"),      std::string_view("threads"),
                               std::string_view("device"),     std::string_view("share_device"),
                               std::string_view("transport"),  std::string_view("interface"),
                               std::string_view("hosts"),      std::string_view("ssh_command"),
                               std::string_view("host_lease"), std::string_view("deploy_libtorch"),
                               std::string_view("encrypt")};
    return std::find(kKeys.begin(), kKeys.end(), option.key) != kKeys.end();
}

std::int64_t nowS() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// Of recordings that are read and not kept.
class ScratchFolder {
public:
    static Result<std::unique_ptr<ScratchFolder>> make() {
        std::error_code error;
        std::string path =
            (std::filesystem::temp_directory_path(error) / "shardscope-calibrate-XXXXXX").string();
        if (error || ::mkdtemp(path.data()) == nullptr)
            return failure(
                ErrorCode::kFailure,
                fmt::format("no folder for recordings can be made: {}; set TMPDIR to one "
                            "that can be written",
                            error ? error.message() : std::strerror(errno)));
        return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    [[nodiscard]] std::string file(const std::string& name) const { return m_path + '/' + name; }

private:
    explicit ScratchFolder(std::string path) : m_path(std::move(path)) {}
    std::string m_path;
};

/// Of all runs alike; products and copies are measured by the first.
Result<run::RunConfig> baseConfig(const CalibrateOptions& options) {
    run::RunConfig config;
    if (auto done = options.flags.apply(config); !done) return failure(done);
    if (!options.flags.given("ranks") && config.device == run::Device::kCuda) config.ranks = 1;
    if (auto settled = options.hosts.settle(config, options.flags.given("ranks")); !settled)
        return failure(settled);
    config.strategy = config.ranks == 1 ? run::Strategy::kSingle : run::Strategy::kZero3;
    config.measureOperations = config.ranks == 1 ? "" : run::measurableOperations();
    config.measureSizes =
        options.quick ? "16kB,256kB,4MB" : "4kB,16kB,64kB,256kB,1MB,4MB,16MB,64MB";
    config.measureRounds = options.quick ? 5 : 15;
    config.measureWarmup = options.quick ? 1 : 2;
    config.measureSeconds = options.quick ? 0.03 : 0.3;
    config.measureMachine = true;
    config = run::measuring(config);
    if (auto valid = run::validate(config); !valid) return failure(valid);
    return config;
}

/// What joins these ranks one way and another: by default all there is.
std::vector<run::RunConfig> runsOf(const run::RunConfig& base, bool transportGiven) {
    std::vector<run::RunConfig> runs{base};
    const auto kind = run::communicatorOf(base);
    const bool another = kind == run::CommunicatorKind::kSharedMemory ||
                         kind == run::CommunicatorKind::kHierarchical;
    if (transportGiven || base.ranks == 1 || !another) return runs;
    run::RunConfig gloo = base;
    gloo.transport = run::Transport::kGloo;
    gloo.measureMachine = false;
    runs.push_back(run::measuring(gloo));
    return runs;
}

std::string subjectOf(const run::RunConfig& config) {
    std::vector<std::string> parts;
    if (config.measureMachine) parts.emplace_back("the machine");
    if (config.ranks > 1)
        parts.push_back(fmt::format("{} between {} ranks",
                                    entryOf(run::communicatorOf(config))->name, config.ranks));
    return fmt::format("{}", fmt::join(parts, " and "));
}

/// Adds to `said` what is to be minded.
Result<Calibration> measure(run::RunConfig config, const ScratchFolder& folder,
                            const CalibrateOptions& options, std::set<std::string>& said) {
    config.output = folder.file(fmt::format("{}.sscope", toWord(run::communicatorOf(config))));
    if (auto done = measureRun(config); !done) return failure(done);
    const auto recording = readMeasuredRecording(config.output);
    if (!recording) return failure(recording);
    for (const std::string& limit : limitsOf(recording->summary)) said.insert(limit);
    Calibration calibration = planning::calibrationOf(*recording);
    calibration.quick = options.quick;
    if (calibration.rates.empty() && calibration.collectives.empty())
        return failure(ErrorCode::kFailure,
                       fmt::format("{}: the run ended well and measured nothing; use programs of "
                                   "one build of Shardscope",
                                   subjectOf(config)));
    return calibration;
}

/// All runs, into `all`; those after the first only add to it. An error: the first failed, or it
/// was interrupted.
Result<void> measureAll(const CalibrateOptions& options, std::optional<Calibration>& all) {
    const auto base = baseConfig(options);
    if (!base) return failure(base);
    auto folder = ScratchFolder::make();
    if (!folder) return failure(folder);
    const InterruptGuard guard;
    std::set<std::string> said;
    const std::vector<run::RunConfig> runs = runsOf(*base, options.flags.given("transport"));
    for (const run::RunConfig& config : runs) {
        if (!options.quiet)
            tellLine(planning::textOf(planning::CalibrationProgress{
                subjectOf(config), static_cast<int>(&config - runs.data()) + 1,
                static_cast<int>(runs.size())}));
        auto found = measure(config, **folder, options, said);
        if (!found && found.error().code == ErrorCode::kInterrupted)
            return failure(
                ErrorCode::kInterrupted,
                fmt::format("interrupted while {} was measured; {}", subjectOf(config),
                            all ? "what was measured before is kept" : "nothing is kept of it"));
        if (!found && !all) return failure(found);
        if (!found) tellLine("Not measured: " + found.error().message);
        if (found) all = all ? planning::merged(std::move(*found), *all) : std::move(*found);
    }
    for (const std::string& each : said) tellLine(each);
    return {};
}

/// Puts what is kept already to it, and keeps both; a damaged file is replaced.
Result<void> keep(Calibration& calibration, const CalibrateOptions& options) {
    const auto before =
        planning::findCalibration(calibration.host, calibration.kind, calibration.device);
    if (!before) tellLine(before.error().message);
    if (before && *before && (*before)->device == calibration.device)
        calibration = planning::merged(std::move(calibration), **before);
    const auto path = planning::keepCalibration(calibration);
    if (!path) return failure(path);
    if (!options.quiet) tellLine(fmt::format("Kept in {}.", *path));
    return {};
}

Result<Calibration> kept(const CalibrateOptions& options) {
    run::RunConfig config;
    if (auto done = options.flags.apply(config); !done) return failure(done);
    const std::string host = launch::hostFacts().name;
    auto found = planning::findCalibration(host, config.device);
    if (!found) return failure(found);
    if (*found) return std::move(**found);
    const std::string held =
        config.device == run::Device::kCpu ? run::heldInstructions() : std::string();
    return failure(
        ErrorCode::kFailure,
        fmt::format("{} was never calibrated for {}{}; run `shardscope calibrate{}`", host,
                    entryOf(config.device)->name, held.empty() ? "" : " held to " + held,
                    config.device == run::Device::kCuda ? " --device cuda" : ""));
}

int show(const Calibration& calibration, const CalibrateOptions& options) {
    return printLast(options.json
                         ? planning::toJson(calibration)
                         : answerText(questions::calibrationAnswer(calibration, nowS()), 0));
}

int refuse(const Error& error) {
    tellError(error.message);
    return exitStatus(error);
}

/// What was measured is shown whether it can be kept or not.
int calibrate(const CalibrateOptions& options) {
    std::optional<Calibration> measured;
    const auto done = measureAll(options, measured);
    if (!measured) return refuse(done.error());
    const auto isKept = keep(*measured, options);
    if (!done) return refuse(done.error());
    const int status = show(*measured, options);
    return isKept ? status : refuse(isKept.error());
}

int run(const CalibrateOptions& options) {
    if (!options.show) return calibrate(options);
    const auto calibration = kept(options);
    return calibration ? show(*calibration, options) : refuse(calibration.error());
}

}  // namespace

Command addCalibrate(CLI::App& root) {
    auto options = std::make_shared<CalibrateOptions>();
    CLI::App* app = addVerb(root, "calibrate",
                            "measure the machine: matrix products, memory, collectives, launches");
    setFooter(*app, kExamples);
    const Option quick =
        addFlag(*app, "--quick", options->quick, "fewer sizes and rounds: wider intervals");
    addFlag(*app, "--show", options->show, "print what is kept of this host; measure nothing")
        .excludes(quick);
    options->flags.addTo(*app, isOffered);
    options->hosts.addTo(*app);
    addJson(*app, options->json, planning::kCalibrationSchema);
    addQuiet(*app, options->quiet);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli

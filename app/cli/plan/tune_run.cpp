#include "app/cli/plan/tune_run.h"

#include "app/cli/bench/bench_runs.h"
#include "app/cli/bench/measured_run.h"
#include "app/cli/bench/run_reading.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/run_option.h"
#include "engine/run/config/run_rules.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/findings.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/tuning.h"
#include "profiler/questions/plan_tables.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace shardscope::cli {
namespace {

using planning::TuningPoint;
using questions::Cell;
using questions::Unit;
using run::RunConfig;
using Clock = std::chrono::steady_clock;

/// By what equal runs of some steps were seen to differ on a machine shared with others.
constexpr double kClearlyFaster = 1.2;

/// Seconds of a token, all ranks together.
struct Measured {
    double secondsPerToken = 0;
    planning::PlanTimes times;
};

class Tuning {
public:
    explicit Tuning(const TuneRequest& request)
        : m_request(request), m_begun(Clock::now()), m_start(measurable(request.start)) {}

    Result<TuneResult> run() {
        if (auto some = checkGrid(); !some) return failure(some);
        auto first = measure(m_start, "start");
        if (!first) return failure(first);
        m_first = std::move(*first);
        m_seen.emplace(run::toJson(m_start), TuningPoint());  // it is not run a second time
        planning::TuningTask task;
        for (const SettingsAxis& axis : m_request.axes) task.axes.push_back(axis.values.size());
        task.predict = [this](const TuningPoint& point) { return predict(point); };
        task.measure = [this](const TuningPoint& point) { return measure(point); };
        task.mayGoOn = [this] { return mayGoOn(); };
        m_mostRuns = std::max<std::size_t>(
            1, static_cast<std::size_t>(m_request.share * static_cast<double>(differentRuns())));
        task.mostRuns = m_mostRuns;
        return conclude(planning::tune(task));
    }

private:
    /// As short runs are recorded; a run file's own output is not touched.
    [[nodiscard]] RunConfig measurable(RunConfig config) const {
        config.steps = m_request.warmUp + m_request.steps;
        config.capture = CaptureLevel::kLight;
        config.evaluateEvery = 0;
        config.calibrate = false;
        config.checkpoint.clear();
        config.checkpointEvery = 0;
        return run::settled(config, config);
    }

    [[nodiscard]] Settings settingsAt(const TuningPoint& point) const {
        Settings settings;
        for (std::size_t i = 0; i < point.size(); ++i)
            settings.push_back({m_request.axes[i].key, m_request.axes[i].values[point[i]]});
        return settings;
    }

    /// Of settings that mean nothing beside others many come to the same run.
    [[nodiscard]] std::size_t differentRuns() const {
        std::set<std::string> runs;
        for (const Settings& settings : gridOf(m_request.axes))
            if (const auto config = configWith(settings)) runs.insert(run::toJson(*config));
        runs.erase(run::toJson(m_start));
        return runs.size();
    }

    [[nodiscard]] std::optional<RunConfig> configAt(const TuningPoint& point) const {
        return configWith(settingsAt(point));
    }

    /// kUsage: there is none that can be run; why the first cannot.
    [[nodiscard]] Result<void> checkGrid() const {
        Result<void> why;
        for (const Settings& settings : gridOf(m_request.axes)) {
            if (configWith(settings)) return {};
            RunConfig config = m_start;
            if (why) why = applySettings(settings, config);
            if (why) why = run::validate(run::settled(config, m_start));
        }
        return why ? why : failure(why, "none of the settings can be run");
    }

    /// Absent: there is no such run.
    [[nodiscard]] std::optional<RunConfig> configWith(const Settings& settings) const {
        RunConfig config = m_start;
        if (!applySettings(settings, config)) return std::nullopt;
        config = run::settled(config, m_start);
        if (!run::validate(config)) return std::nullopt;
        return config;
    }

    [[nodiscard]] static double tokensOf(const RunConfig& config) {
        return static_cast<double>(theory::tokensPerStep(config));
    }

    /// Of settings that come to the same run the first counts; what has no room is none.
    std::optional<double> predict(const TuningPoint& point) {
        const auto config = configAt(point);
        if (!config || !m_seen.emplace(run::toJson(*config), point).second) return std::nullopt;
        const auto needed = hostMemoryNeeded(*config), free = launch::freeMemory();
        if (needed && free && needed->count > free->count) {
            ++m_tooLarge;
            return std::nullopt;
        }
        const auto made = planning::forecastOf(*config, m_first.times);
        // Without a link all are alike until they were seen.
        if (!made) return m_first.secondsPerToken;
        return made->step.time.seconds() / tokensOf(*config);
    }

    /// "[2/6] NAME ...": which run of at most how many. The first cannot say it yet.
    void tellOf(const std::string& name) {
        ++m_run;
        if (m_request.quiet) return;
        const std::string most = m_mostRuns > 0 ? fmt::format("/{}", m_mostRuns + 1) : "";
        tellLine(fmt::format("[{}{}] {} ...", m_run, most, name));
    }

    Result<Measured> measure(RunConfig config, const std::string& name) {
        config.output = (std::filesystem::path(m_request.folder) / (name + ".sscope")).string();
        tellOf(name);
        const auto run = measureRun(config, m_request.force);
        if (!run) return failure(run);
        const auto reading = readRun(run->recording, m_request.warmUp);
        if (!reading) return failure(reading);
        const auto speed = analysis::measureThroughput(reading->summary, reading->ranks);
        if (!speed.tokensPerSecond)
            return failure(ErrorCode::kFailure,
                           fmt::format("{} has no step to go by", run->recording));
        auto times = planning::timesOfRecording(reading->summary, reading->ranks, name);
        if (!times) return failure(times);
        return Measured{1 / *speed.tokensPerSecond, std::move(*times)};
    }

    Result<std::optional<double>> measure(const TuningPoint& point) {
        const auto found = measure(*configAt(point), nameOf(settingsAt(point)));
        if (found) return std::optional(found->secondsPerToken);
        if (found.error().code != ErrorCode::kRank) return failure(found);
        m_failures.push_back(found.error().message);
        return std::optional<double>();
    }

    bool mayGoOn() {
        const bool over =
            m_request.budget.count() > 0 && Clock::now() - m_begun >= m_request.budget;
        m_outOfTime = m_outOfTime || over;
        return !over && !InterruptGuard::interrupted();
    }

    [[nodiscard]] questions::Table pathTable(const planning::Tuned& tuned) const {
        questions::Table table = questions::tunePathTable();
        const double start = 1 / m_first.secondsPerToken;
        table.rows.push_back({"the start", {}, start, 0.0, tuned.best ? "" : "yes"});
        for (std::size_t i = 0; i < tuned.path.size(); ++i) {
            const planning::TuningStep& step = tuned.path[i];
            std::vector<Cell> row{wordsOf(step.point), 1 / step.expected, {}, {}, ""};
            if (step.measured) {
                row[2] = 1 / *step.measured;
                row[3] = 100 * (1 / *step.measured / start - 1);
            }
            if (isBest(tuned, i)) row[4] = "yes";
            table.rows.push_back(std::move(row));
        }
        return table;
    }

    /// The start stands where nothing was faster.
    [[nodiscard]] bool isBest(const planning::Tuned& tuned, std::size_t place) const {
        return tuned.best == place && tuned.path[place].measured &&
               *tuned.path[place].measured < m_first.secondsPerToken;
    }

    /// Others that were not clearly slower than the best.
    [[nodiscard]] std::vector<std::string> asGood(const planning::Tuned& tuned,
                                                  std::size_t best) const {
        std::vector<std::string> alike;
        for (std::size_t i = 0; i < tuned.path.size(); ++i) {
            const planning::TuningStep& step = tuned.path[i];
            if (i != best && step.measured &&
                *step.measured < kClearlyFaster * *tuned.path[best].measured)
                alike.push_back(wordsOf(step.point));
        }
        return alike;
    }

    [[nodiscard]] std::string wordsOf(const TuningPoint& point) const {
        std::vector<std::string> words;
        for (const Setting& each : settingsAt(point))
            words.push_back(fmt::format("{} {}", flagOf(each.key), each.value));
        return fmt::format("{}", fmt::join(words, " "));
    }

    TuneResult conclude(const planning::Tuned& tuned) const {
        TuneResult result;
        result.ended = tuned.ended;
        if (!result.ended && InterruptGuard::interrupted())
            result.ended = Error{ErrorCode::kInterrupted, "interrupted"};
        questions::Answer& answer = result.answer;
        result.best = m_request.start;
        std::string best = "Nothing that was measured is faster than the start.";
        for (std::size_t i = 0; i < tuned.path.size(); ++i) {
            if (!isBest(tuned, i)) continue;
            const RunConfig config = *configAt(tuned.path[i].point);
            for (const SettingsAxis& axis : m_request.axes)
                static_cast<void>(run::findRunOption(axis.key)->set(
                    *result.best, run::findRunOption(axis.key)->get(config)));
            *result.best = run::settled(*result.best, m_request.start);
            const double times = m_first.secondsPerToken / *tuned.path[i].measured;
            best = tuneVerdict(wordsOf(tuned.path[i].point), times, asGood(tuned, i));
        }
        answer.sentences.push_back(best);
        answer.sentences.push_back(fmt::format(
            "Each setting ran once; single short runs that differ by less than {:.0f} % are taken "
            "for equal. --steps makes them longer.",
            100 * (kClearlyFaster - 1)));
        if (m_outOfTime) answer.sentences.emplace_back("The budget of time was used up.");
        if (m_tooLarge > 0)
            answer.unknown.push_back(
                fmt::format("could not try {}: by theory more memory is needed than is free",
                            counted(m_tooLarge, "setting")));
        for (const std::string& each : m_failures)
            answer.unknown.push_back("could not measure one of the settings: " + each);
        answer.figures.push_back(
            {{"points", "Settings in the grid", Unit::kCount, "Settings that differ and fit."},
             static_cast<std::int64_t>(tuned.points)});
        answer.figures.push_back({{"runs", "Runs", Unit::kCount, "The start besides."},
                                  static_cast<std::int64_t>(tuned.path.size())});
        answer.tables.push_back(pathTable(tuned));
        return result;
    }

    const TuneRequest& m_request;
    const Clock::time_point m_begun;
    const RunConfig m_start;
    Measured m_first;
    std::map<std::string, TuningPoint> m_seen;  ///< by configuration
    std::int64_t m_tooLarge = 0;
    std::vector<std::string> m_failures;
    bool m_outOfTime = false;
    std::size_t m_run = 0, m_mostRuns = 0;  ///< the latter without the first
};

/// Of options that people tune, around what the run has.
std::vector<std::string> usualValues(const run::RunOption& option, const RunConfig& start) {
    const std::string_view key = option.key;
    if (key == "batch") {
        std::vector<std::string> values;
        for (const double factor : {0.5, 1.0, 2.0, 4.0})
            if (const auto batch = static_cast<std::int64_t>(start.batch * factor); batch > 0)
                values.push_back(std::to_string(batch));
        return values;
    }
    if (key == "prefetch") return {"0", "1", "2", "4"};
    if (key == "recompute_every") return {"0", "1", "2"};
    if (key == "accumulate") return {"1", "2", "4"};
    if (key == "bucket_mb") return {"1", "5", "25", "100"};
    std::vector<std::string> words;
    if (option.choices != nullptr)
        for (const run::OptionChoice& choice : option.choices()) words.push_back(choice.word);
    // The ranks stay as many as they are.
    if (key == "strategy")
        std::erase_if(words, [&](const std::string& word) {
            return (word == toWord(run::Strategy::kSingle)) != (start.ranks == 1);
        });
    return words;
}

const run::RunOption* findByFlag(const std::string& word) {
    if (const run::RunOption* option = run::findRunOption(word)) return option;
    for (const run::RunOption& option : run::runOptions())
        if (*option.flag != '\0' && word == std::string_view(option.flag).substr(2)) return &option;
    return nullptr;
}

}  // namespace

Result<std::chrono::seconds> parseBudget(const std::string& text) {
    std::int64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(text.data(), end, count);
    const std::string_view unit(behind, static_cast<std::size_t>(end - behind));
    const std::int64_t factor = unit.empty() || unit == "s" ? 1
                                : unit == "m"               ? 60
                                : unit == "h"               ? 3600
                                                            : 0;
    constexpr std::int64_t kMost = 1'000'000;
    if (error != std::errc() || count <= 0 || count > kMost || factor == 0)
        return failure(ErrorCode::kUsage,
                       fmt::format("'{}' is not a duration: write 90s, 5m or 1h", text));
    return std::chrono::seconds(count * factor);
}

Result<std::vector<SettingsAxis>> parseAxes(const std::string& text, const RunConfig& start) {
    std::vector<SettingsAxis> axes;
    for (const std::string& each : valuesIn(text)) {
        const auto equals = each.find('=');
        const std::string word = each.substr(0, equals);
        const run::RunOption* const option = findByFlag(word);
        if (option == nullptr)
            return failure(ErrorCode::kUsage, fmt::format("'{}' is not an option of a run{}", word,
                                                          run::suggestedKey(word)));
        SettingsAxis axis{option->key, {}};
        if (equals != std::string::npos) {
            std::string values = each.substr(equals + 1);
            std::replace(values.begin(), values.end(), ':', ',');
            axis.values = valuesIn(values);
        } else {
            axis.values = usualValues(*option, start);
        }
        if (axis.values.empty())
            return failure(
                ErrorCode::kUsage,
                fmt::format("'{}' has no usual values: write them, as in {}=1:2:4", word, word));
        for (const std::string& value : axis.values) {
            RunConfig tried = start;
            if (auto set = applySettings({{axis.key, value}}, tried); !set) return failure(set);
            if (auto within = run::checkRanges(tried); !within) return failure(within);
        }
        if (std::any_of(axes.begin(), axes.end(),
                        [&](const SettingsAxis& other) { return other.key == axis.key; }))
            return failure(ErrorCode::kUsage,
                           fmt::format("'{}' is named twice: write all of its values behind it "
                                       "once",
                                       word));
        axes.push_back(std::move(axis));
    }
    if (axes.empty()) return failure(ErrorCode::kUsage, "nothing to tune over");
    return axes;
}

std::string tuneVerdict(const std::string& best, double times,
                        const std::vector<std::string>& asGood) {
    std::string text =
        fmt::format("{}: {}, {:.2f} times the tokens/s of the start.",
                    times < kClearlyFaster ? "Fastest, within noise" : "Fastest", best, times);
    if (!asGood.empty()) text += fmt::format(" As good within noise: {}.", fmt::join(asGood, "; "));
    return text;
}

Result<TuneResult> tuneRun(const TuneRequest& request) {
    return Tuning(request).run();
}

}  // namespace shardscope::cli

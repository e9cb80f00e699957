#include "engine/run/config/near_miss.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/graph/critical_path.h"
#include "profiler/analysis/graph/what_if.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "profiler/planning/forecast.h"
#include "profiler/planning/plan_times.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/path_steps.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/scenarios.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace shardscope::questions {
namespace {

using analysis::Activity;
using analysis::Change;
using analysis::Hastened;
using analysis::PathKind;
using analysis::PathPiece;
using analysis::Scenario;
using analysis::Speed;
using analysis::StepGraph;

constexpr std::size_t kMostSlowRanks = 3;
constexpr std::size_t kMostNames = 3;

constexpr const char* kLinkWord = "link";

/// "rank 3"
std::optional<RankId> rankIn(std::string_view what) {
    constexpr std::string_view kWord = "rank ";
    if (!what.starts_with(kWord)) return std::nullopt;
    const char* const end = what.data() + what.size();
    RankId rank;
    const auto [behind, error] = std::from_chars(what.data() + kWord.size(), end, rank.value);
    return error == std::errc() && behind == end ? std::optional(rank) : std::nullopt;
}

struct Sum {
    std::int64_t count = 0;
    Duration time;
    void add(Duration more) {
        ++count;
        time += more;
    }
};

/// Most time first.
template <class Key>
std::vector<std::pair<Key, Sum>> sorted(const std::map<Key, Sum>& sums) {
    std::vector<std::pair<Key, Sum>> all(sums.begin(), sums.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
    return all;
}

/// Steps to be looked at: those selected, or the steady ones; of those that have detail.
std::map<StepIndex, TimeRange> stepsOf(const Asked& asked, const std::vector<RankEvents>& ranks) {
    std::map<StepIndex, TimeRange> steps;
    if (!asked.selection.cutsTime()) {
        for (const auto& [index, step] : analysis::steadyWithDetail(asked.summary, ranks).steps)
            steps[index] = step.range;
        return steps;
    }
    const analysis::DetailedPart part = analysis::detailedPart(asked.summary);
    for (const StepFacts& facts : part.of(asked.summary).steps) {
        const auto [found, fresh] = steps.try_emplace(facts.step, facts.range());
        if (fresh) continue;
        found->second.begin = std::min(found->second.begin, facts.start);
        found->second.end = std::max(found->second.end, facts.end);
    }
    return steps;
}

/// Work whose speed can be changed: what is worth a separate scenario.
bool isWorth(const PathPiece& piece) {
    switch (piece.kind) {
        case PathKind::kCompute:
        case PathKind::kOptimizer:
        case PathKind::kData:
        case PathKind::kCopy:
            return true;
        default:
            return piece.kind == PathKind::kHost && piece.name != 0;
    }
}

/// The steps' paths, and what they add up to.
class Bounds {
public:
    Bounds(const Asked& asked, const std::vector<RankEvents>& ranks)
        : m_facts(asked.summary.facts),
          m_clocks(asked.summary, ranks),
          m_graphs(ranks, m_clocks, m_names),
          m_steps(asked, ranks, m_names),
          m_ranges(stepsOf(asked, ranks)) {}

    [[nodiscard]] bool hasSteps() const { return !m_ranges.empty(); }
    /// For some collectives waiting and transfer time cannot be separated.
    [[nodiscard]] bool hasUnparted() const { return m_unparted; }
    /// There are transfers that a faster link would shorten.
    [[nodiscard]] bool hasMoving() const { return m_moving; }
    [[nodiscard]] bool sawLaunch() const { return m_steps.sawLaunch(); }
    /// Of the first reading; a second one meets the same again.
    [[nodiscard]] std::int64_t refused() const { return m_refused; }

    Result<void> findPaths() {
        auto done = each([&](StepIndex step, const StepGraph& graph) { take(step, graph); });
        m_refused = m_graphs.refused();
        return done;
    }

    /// Steps are read once more: which scenarios are worth it shows only after all of them.
    Result<void> playScenarios(const std::vector<SpeedUp>& faster) {
        m_scenarios = scenarios();
        if (!faster.empty()) {
            auto given = givenBy(faster);
            if (!given) return failure(given);
            if (isLinkTwice(*given))
                std::erase_if(m_scenarios, [](const Scenario& each) {
                    return each.change == Change::kLinkTwice;
                });
            m_scenarios.insert(m_scenarios.begin() + 1, std::move(*given));
        }
        m_walls.assign(m_scenarios.size(), {});
        return each([&](StepIndex, const StepGraph& graph) {
            for (std::size_t i = 0; i < m_scenarios.size(); ++i)
                m_walls[i].push_back(analysis::replay(graph, m_scenarios[i]).ns);
        });
    }

    [[nodiscard]] std::string shortest() const {
        if (m_byKind.empty()) return "";
        const auto [key, sum] = sorted(m_byKind).front();
        return fmt::format("Most of the steps' path is {} on rank {}: {:.1f} %.", toWord(key.first),
                           key.second.value, 100 * sum.time.seconds() / m_wall.seconds());
    }
    [[nodiscard]] Duration medianWall() const { return {analysis::medianOf(m_recorded)}; }
    [[nodiscard]] std::int64_t steps() const {
        return static_cast<std::int64_t>(m_recorded.size());
    }
    /// Of the steps played again without a change, over the recorded ones, less 1.
    [[nodiscard]] double replayError() const {
        const Duration played{analysis::medianOf(m_walls.front())};
        return played.seconds() / medianWall().seconds() - 1;
    }
    /// Of ranks that had no core, in these steps.
    [[nodiscard]] std::string doubt(const RecordingSummary& summary) const {
        std::set<StepIndex> steps;
        for (const auto& [index, range] : m_ranges) steps.insert(index);
        return planning::coresDoubt(analysis::coreUse(summary, steps).takenOfSteps(), "the run");
    }
    [[nodiscard]] std::vector<std::string> choices() const;

    [[nodiscard]] Table kindTable() const;
    [[nodiscard]] Table pieceTable() const;
    [[nodiscard]] Table scenarioTable() const;
    [[nodiscard]] Table stepTable() const;

private:
    using KindKey = std::pair<PathKind, RankId>;
    using PieceKey = std::tuple<PathKind, std::uint32_t, LayerIndex, RankId>;

    Result<void> each(const auto& work) {
        for (const auto& [step, range] : m_ranges) {
            const auto ranks = m_steps.of(step, range);
            if (!ranks) return failure(ranks);
            work(step, m_graphs.of(range, *ranks));
        }
        return {};
    }

    void take(StepIndex step, const StepGraph& graph) {
        const Duration wall = graph.range().duration();
        m_recorded.push_back(wall.ns);
        m_wall += wall;
        for (const PathPiece& piece : analysis::criticalPath(graph)) {
            const Duration time = piece.range.duration();
            m_byKind[{piece.kind, piece.rank}].add(time);
            m_byPiece[{piece.kind, piece.name, piece.layer, piece.rank}].add(time);
            m_byStep[{step, {piece.kind, piece.rank}}].add(time);
            if (isWorth(piece)) m_byName[piece.name].add(time);
        }
        for (const auto& [key, byRank] : analysis::computeByName(graph))
            for (const auto& [rank, time] : byRank) m_compute[rank] += time;
        for (const Activity& activity : graph.activities()) {
            m_gathers = m_gathers || activity.gather;
            if (!activity.communicates() && activity.name != 0) m_computed.insert(activity.name);
            if (activity.range.empty()) continue;
            m_moving = m_moving || activity.kind == PathKind::kMoving;
            m_unparted = m_unparted || activity.kind == PathKind::kCollective;
        }
    }

    [[nodiscard]] std::vector<Scenario> scenarios() const {
        std::vector<Scenario> all{{}};
        if (m_gathers) all.push_back({Change::kGathersHidden, {}, 0});
        if (m_moving) all.push_back({Change::kLinkTwice, {}, 0});
        std::vector<RankId> slow = analysis::slowRanks(m_compute);
        slow.resize(std::min(slow.size(), kMostSlowRanks));
        for (const RankId rank : slow) all.push_back({Change::kRankAtMedian, rank, 0});
        const auto names = sorted(m_byName);
        for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
            all.push_back({Change::kFaster, {}, names[i].first});
        return all;
    }

    [[nodiscard]] Result<Speed> speedOf(const SpeedUp& given) const {
        Speed speed;
        speed.times = given.times;
        if (given.what == kLinkWord) {
            if (m_moving) return speed;
            return failure(
                ErrorCode::kUsage,
                "no transfer time of collectives is known here, which a faster link would "
                "shorten");
        }
        if (const auto rank = rankIn(given.what)) {
            speed.what = Hastened::kRank;
            speed.rank = *rank;
            if (m_compute.contains(*rank)) return speed;
            return failure(ErrorCode::kUsage,
                           fmt::format("no compute of rank {} was recorded", rank->value));
        }
        speed.what = Hastened::kName;
        std::vector<std::string> known{kLinkWord};
        for (const std::uint32_t name : m_computed) {
            known.push_back(m_names.text(name));
            if (known.back() != given.what) continue;
            speed.name = name;
            return speed;
        }
        constexpr std::size_t kMostTold = 12;
        const bool few = known.size() <= kMostTold || run::nearMiss(given.what, known);
        return failure(ErrorCode::kUsage,
                       fmt::format("nothing in these steps is called '{}'{}", given.what,
                                   few ? run::suggestion(given.what, known)
                                       : "; `analyze REC work` lists what is"));
    }

    /// What is played anyway.
    [[nodiscard]] static bool isLinkTwice(const Scenario& given) {
        return given.speeds.size() == 1 && given.speeds.front().what == Hastened::kLink &&
               given.speeds.front().times == 2;
    }

    [[nodiscard]] Result<Scenario> givenBy(const std::vector<SpeedUp>& faster) const {
        Scenario scenario{Change::kGiven, {}, 0};
        for (const SpeedUp& each : faster) {
            const auto speed = speedOf(each);
            if (!speed) return failure(speed);
            scenario.speeds.push_back(*speed);
        }
        return scenario;
    }

    [[nodiscard]] std::string textOf(const Speed& speed) const {
        const std::string what = speed.what == Hastened::kLink ? kLinkWord
                                 : speed.what == Hastened::kRank
                                     ? fmt::format("rank {}", speed.rank.value)
                                     : m_names.text(speed.name);
        return fmt::format("{} {:g} times as fast", what, speed.times);
    }

    [[nodiscard]] std::string textOf(const Scenario& scenario) const {
        switch (scenario.change) {
            case Change::kRankAtMedian:
                return fmt::format("rank {} at the median", scenario.rank.value);
            case Change::kFaster:
                return fmt::format("{} {}", m_names.text(scenario.name), toWord(scenario.change));
            case Change::kGiven: {
                std::string all;
                for (const Speed& speed : scenario.speeds)
                    all += (all.empty() ? "" : ", ") + textOf(speed);
                return all;
            }
            default:
                return toWord(scenario.change);
        }
    }

    const std::vector<FactRow> m_facts;
    const analysis::HostClocks m_clocks;
    analysis::PathNames m_names;
    analysis::StepGraphs m_graphs;
    PathSteps m_steps;
    const std::map<StepIndex, TimeRange> m_ranges;

    std::vector<std::int64_t> m_recorded;  ///< wall times in ns
    Duration m_wall;                       ///< of all steps
    std::map<KindKey, Sum> m_byKind;
    std::map<PieceKey, Sum> m_byPiece;
    std::map<std::pair<StepIndex, KindKey>, Sum> m_byStep;
    std::map<std::uint32_t, Sum> m_byName;
    std::set<std::uint32_t> m_computed;  ///< names of what is not communication
    std::map<RankId, Duration> m_compute;
    bool m_gathers = false, m_moving = false, m_unparted = false;
    std::int64_t m_refused = 0;
    std::vector<Scenario> m_scenarios;
    std::vector<std::vector<std::int64_t>> m_walls;  ///< of each scenario, in ns
};

std::string kindsText() {
    std::string text;
    for (const PathKind kind : kAll<PathKind>)
        text += fmt::format("{}{}: {}", text.empty() ? "" : " ", toWord(kind),
                            entryOf(kind)->definition);
    return text;
}

const char* kindDefinition() {
    static const std::string kText = kindsText();
    return kText.c_str();
}

const char* kShareDefinition = "Of the wall time of the steps analysed.";

Table Bounds::kindTable() const {
    Table table{
        "path",
        "The path by kind and rank",
        {{"kind", "kind", Unit::kNone, kindDefinition()},
         {"rank", "rank"},
         {"time_ns", "time", Unit::kNanoseconds, "All rows add up to the steps' wall time."},
         {"share_pct", "of wall time", Unit::kPercent, kShareDefinition}},
        {}};
    for (const auto& [key, sum] : sorted(m_byKind))
        table.rows.push_back({toWord(key.first), std::int64_t{key.second.value}, sum.time.ns,
                              share(sum.time, m_wall)});
    return table;
}

Table Bounds::pieceTable() const {
    Table table{"pieces",
                "What is on the path, most time first",
                {{"name", "name", Unit::kNone,
                  "A phase, collective, kernel or call; none: the step's thread between them."},
                 {"layer", "layer", Unit::kNone, "-2: embeddings and head."},
                 {"kind", "kind"},
                 {"rank", "rank"},
                 {"count", "count", Unit::kCount, "Stretches of the path."},
                 {"time_ns", "time", Unit::kNanoseconds},
                 {"share_pct", "of wall time", Unit::kPercent, kShareDefinition}},
                {}};
    for (const auto& [key, sum] : sorted(m_byPiece)) {
        const auto& [kind, name, layer, rank] = key;
        table.rows.push_back({name == 0 ? Cell() : Cell(m_names.text(name)), layerCell(layer),
                              toWord(kind), std::int64_t{rank.value}, sum.count, sum.time.ns,
                              share(sum.time, m_wall)});
    }
    return table;
}

Table Bounds::scenarioTable() const {
    Table table{
        "what_if",
        "What if",
        {{"scenario", "scenario"},
         {"step_ns", "median step", Unit::kNanoseconds, "Of the steps played again."},
         {"low_ns", "from", Unit::kNanoseconds,
          "Four in five runs of it have their median step between this and the next: by how far "
          "runs lie apart, and how far the step is from the recorded one."},
         {"high_ns", "to", Unit::kNanoseconds, "Its other end."},
         {"saved_ns", "saved", Unit::kNanoseconds, "The recorded median step less that one."},
         {"saved_pct", "saved", Unit::kPercent, "Of the recorded median step."}},
        {}};
    const Duration recorded = medianWall();
    std::vector<double> seconds;
    for (const std::int64_t ns : m_recorded) seconds.push_back(Duration{ns}.seconds());
    const double spread = planning::spreadOfRuns(seconds, m_facts);
    for (std::size_t i = 1; i < m_scenarios.size(); ++i) {
        const Duration median{analysis::medianOf(m_walls[i])};
        const Duration saved = recorded - median;
        const auto band = planning::bandOf(median, recorded, spread, replayError());
        table.rows.push_back({textOf(m_scenarios[i]), median.ns, band.low.ns, band.high.ns,
                              saved.ns, share(saved, recorded)});
    }
    return table;
}

std::vector<std::string> Bounds::choices() const {
    std::vector<std::string> all;
    if (m_moving) all.emplace_back(kLinkWord);
    for (const auto& [rank, time] : m_compute) all.push_back(fmt::format("rank {}", rank.value));
    std::set<std::uint32_t> left = m_computed;
    for (const auto& [name, sum] : sorted(m_byName))
        if (left.erase(name) > 0) all.push_back(m_names.text(name));
    for (const std::uint32_t name : left) all.push_back(m_names.text(name));
    return all;
}

Table Bounds::stepTable() const {
    // Not "steps": that is the figure of how many there are.
    Table table{"step_paths",
                "The path of each step",
                {{"step", "step"},
                 {"kind", "kind"},
                 {"rank", "rank"},
                 {"time_ns", "time", Unit::kNanoseconds, "Rows of a step add up to its wall time."},
                 {"share_pct", "of step", Unit::kPercent, "Of the step's wall time."}},
                {}};
    for (const auto& [key, sum] : m_byStep) {
        const auto& [step, kind] = key;
        table.rows.push_back({stepCell(step), toWord(kind.first), std::int64_t{kind.second.value},
                              sum.time.ns, share(sum.time, m_ranges.at(step).duration())});
    }
    return table;
}

/// Whether it is known what the rank did: its phases, or of a device rank its kernels.
bool isKnown(const Asked& asked, const RankEvents& events) {
    if (!events.computeKernels.empty()) return true;
    const bool onDevice = std::any_of(asked.summary.devices.begin(), asked.summary.devices.end(),
                                      [&](const auto& each) { return each.rank == events.rank; });
    return !onDevice && !events.phases.empty();
}

bool anyIsKnown(const Asked& asked, const std::vector<RankEvents>& ranks) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const RankEvents& events) { return isKnown(asked, events); });
}

/// Kernels without the calls that launched them have no path.
bool lacksLaunches(const std::vector<RankEvents>& ranks, const Bounds& bounds) {
    const bool device = std::any_of(ranks.begin(), ranks.end(), [](const RankEvents& events) {
        return !events.computeKernels.empty();
    });
    return device && !bounds.sawLaunch();
}

void addUnknown(const Asked& asked, const std::vector<RankEvents>& ranks, Answer& answer) {
    for (const RankEvents& events : ranks)
        if (!isKnown(asked, events))
            answer.unknown.push_back(
                fmt::format("what rank {} did on the path is unknown: neither phases of its "
                            "step thread nor kernels were recorded",
                            events.rank.value));
}

void addUnparted(const Bounds& bounds, Answer& answer) {
    if (bounds.hasUnparted())
        answer.unknown.emplace_back(
            "what a faster link would save of all collectives is unknown: for some the "
            "arrival of the last rank is unknown");
}

void addTables(const Asked& asked, const Bounds& bounds, Answer& answer) {
    answer.doubt = bounds.doubt(asked.summary);
    answer.sentences.push_back(bounds.shortest());
    answer.sentences.emplace_back(analysis::kWhatIfModel);
    answer.figures.push_back(
        {{"steps", "Steps", Unit::kCount, "Steady ones, or those selected."}, bounds.steps()});
    answer.figures.push_back({{"step_ns", "Median step", Unit::kNanoseconds,
                               "From the first rank's beginning to the last one's end."},
                              bounds.medianWall().ns});
    answer.tables.push_back(bounds.kindTable());
    answer.tables.push_back(bounds.pieceTable());
    answer.tables.push_back(bounds.scenarioTable());
    if (asked.perStep) answer.tables.push_back(bounds.stepTable());
    addUnparted(bounds, answer);
    if (bounds.refused() > 0)
        answer.unknown.push_back(fmt::format(
            "which rank {} collectives waited for is unknown: arrivals differ by less than "
            "the uncertainty of the hosts' clocks; the path stays on its rank there",
            bounds.refused()));
}

void addReplay(const Bounds& bounds, Answer& answer) {
    answer.figures.push_back(
        {{"replay_steps", "Steps played again", Unit::kCount, "Steady ones, or those selected."},
         bounds.steps()});
    answer.figures.push_back({{"replay_recorded_ns", "Their median", Unit::kNanoseconds,
                               "As recorded, from the first rank's beginning to the last one's "
                               "end."},
                              bounds.medianWall().ns});
    answer.figures.push_back({{"replay_error_pct", "Error of the replay", Unit::kChange,
                               "Of these steps played again without a change against the recorded "
                               "ones."},
                              100 * bounds.replayError()});
}

/// Bounds that know their paths; null where there are none, and what is missing for them.
struct Paths {
    std::unique_ptr<Bounds> bounds;
    std::string missing;
};

Result<Paths> pathsOf(const Asked& asked, const std::vector<RankEvents>& ranks) {
    const auto without = [](std::string missing) { return Paths{nullptr, std::move(missing)}; };
    if (!asked.summary.steps.empty() && analysis::detailedPart(asked.summary).basis.detailed == 0)
        return without("no step has detail");
    if (!anyIsKnown(asked, ranks))
        return without(
            analysis::withHow("neither phases of step threads nor kernels of devices were recorded",
                              asked.summary, analysis::Lack::kPhases));
    Paths paths{std::make_unique<Bounds>(asked, ranks), {}};
    if (!paths.bounds->hasSteps()) return without("there is no step that all ranks finished");
    if (auto found = paths.bounds->findPaths(); !found) return failure(found);
    if (lacksLaunches(ranks, *paths.bounds))
        return without("kernels were traced without the calls that launched them");
    if (paths.bounds->medianWall().ns <= 0) return without("the steps have no length");
    return paths;
}

}  // namespace

Result<void> addScenarios(const Asked& asked, const std::vector<RankEvents>& ranks,
                          Answer& answer) {
    auto paths = pathsOf(asked, ranks);
    if (!paths) return failure(paths);
    if (!paths->bounds) {
        if (!asked.faster.empty())
            answer.unknown.push_back(
                fmt::format("what being faster would do is unknown: {}", paths->missing));
        return {};
    }
    Bounds& bounds = *paths->bounds;
    if (auto played = bounds.playScenarios(asked.faster); !played) return failure(played);
    Table table = bounds.scenarioTable();
    table.key = "durations";
    table.title = "With a kernel, a rank or the link faster, the recorded steps played again";
    answer.tables.push_back(std::move(table));
    answer.sentences.emplace_back(analysis::kWhatIfModel);
    addReplay(bounds, answer);
    if (bounds.hasMoving()) addUnparted(bounds, answer);
    answer.doubt = bounds.doubt(asked.summary);
    return {};
}

Result<std::vector<std::string>> fasterChoices(const Asked& asked,
                                               const std::vector<RankEvents>& ranks) {
    const auto paths = pathsOf(asked, ranks);
    if (!paths) return failure(paths);
    return paths->bounds ? paths->bounds->choices() : std::vector<std::string>();
}

Result<Answer> askBounds(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    Answer answer;
    std::ignore = asked.detailed(answer);
    if (anyIsKnown(asked, *ranks)) addUnknown(asked, *ranks, answer);
    auto paths = pathsOf(asked, *ranks);
    if (!paths) return failure(paths);
    if (!paths->bounds) {
        answer.unknown.insert(answer.unknown.begin(),
                              fmt::format("what bounds the step is unknown: {}", paths->missing));
        return answer;
    }
    Bounds& bounds = *paths->bounds;
    if (auto played = bounds.playScenarios(asked.faster); !played) return failure(played);
    addTables(asked, bounds, answer);
    return answer;
}

}  // namespace shardscope::questions

#include "app/desktop/pages/plan/plan_view.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/theory_bars.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "engine/run/config/run_rules.h"
#include "engine/run/theory/device_peaks.h"
#include "profiler/planning/calibration.h"
#include "profiler/planning/compute_times.h"
#include "profiler/planning/fits_on.h"
#include "profiler/planning/model_parallel.h"
#include "profiler/questions/plan_tables.h"

#include <QObject>
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <tuple>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using planning::ModelPlanInput;
using planning::ProjectionRow;
using planning::Scaled;
using planning::StrategyPlan;

constexpr std::int32_t kMostRanks = 1024;
constexpr double kThousandth = 1e-3;

bool usesRecording(const PlanSettings& settings) {
    const PlanTimesPtr& recorded = settings.recorded.times;
    return recorded != nullptr &&
           recorded->computing.front().config.device == settings.config.device;
}

/// What was recorded on the same kind of device, else what was calibrated, else the data sheet.
std::optional<planning::PlanTimes> timesOf(const PlanSettings& settings) {
    if (usesRecording(settings)) return *settings.recorded.times;
    if (settings.device.isEmpty() && settings.calibration)
        return planning::timesOfCalibration(*settings.calibration, settings.config,
                                            std::time(nullptr));
    if (settings.device.isEmpty()) return std::nullopt;
    return planning::timesOfDevice(settings.device.toStdString(), settings.config);
}

std::optional<Bytes> memoryOf(const PlanSettings& settings) {
    if (!settings.device.isEmpty()) return memoryOfDevice(settings.device);
    if (settings.config.device == run::Device::kCuda || settings.machine.totalMemory.count == 0)
        return std::nullopt;
    return Bytes{settings.machine.totalMemory.count /
                 std::max(1, std::min(settings.config.ranks, settings.ranksPerHost))};
}

ModelPlanInput inputOf(const PlanSettings& settings) {
    ModelPlanInput input;
    input.config = settings.config;
    input.config.data = run::kSyntheticData;  // any vocabulary will do
    const auto link = planning::takeGivenLink(input.config);
    input.memory = memoryOf(settings);
    input.times = timesOf(settings);
    if (!input.times) return input;
    if (link) {
        input.times->link = link;
        input.times->linkReach = 0;
    }
    planning::setRanksOnHost(*input.times, settings.ranksPerHost);
    return input;
}

const StrategyPlan* recommended(const std::vector<StrategyPlan>& plans) {
    for (const StrategyPlan& plan : plans)
        if (plan.recommended) return &plan;
    return nullptr;
}

/// `curves`: bytes.
void addMemoryCurves(std::vector<LineSeries> curves, PlanView& view) {
    double most = 0;
    for (const LineSeries& curve : curves)
        for (const QPointF& point : curve.points) most = std::max(most, point.y());
    constexpr double kMebi = 1024.0 * 1024, kGibi = 1024 * kMebi;
    const double factor = most >= kGibi ? kGibi : kMebi;
    view.memoryUnit = most >= kGibi ? u"GiB"_s : u"MiB"_s;
    for (LineSeries& curve : curves)
        for (QPointF& point : curve.points) point.ry() /= factor;
    view.memoryOverRanks = std::move(curves);
}

QString headlineOf(const std::vector<StrategyPlan>& plans, std::optional<Bytes> memory,
                   const QString& remedy) {
    if (const StrategyPlan* best = recommended(plans))
        return QObject::tr("Take %1. %2").arg(fromUtf8(best->name), fromUtf8(best->reason));
    if (!memory) return QObject::tr("Choose a device to see what fits and what to take.");
    return QObject::tr("Nothing fits into %1: %2.")
        .arg(fromUtf8(questions::memoryText(*memory)), remedy);
}

/// How far the model is off what was recorded, beside the times.
QString replayOf(const ModelPlanInput& input, bool recorded, const QString& notLearnt) {
    if (!input.times) return {};
    if (!recorded && !notLearnt.isEmpty())
        return QObject::tr("Replay error: unknown, since no times are taken from the recording.");
    if (!recorded)
        return QObject::tr("Replay error: unknown, since no recording says how long steps took.");
    if (!input.times->replayError) return QObject::tr("Replay error: unknown, as said above.");
    return QObject::tr("Replay error: %1 of the recorded step, played by the same model.")
        .arg(cellText(questions::Cell(100 * *input.times->replayError), questions::Unit::kChange));
}

QString sourcesOf(const ModelPlanInput& input, const QString& notLearnt) {
    const QString before = notLearnt.isEmpty() ? QString() : notLearnt + u' ';
    if (!input.times)
        return before +
               QObject::tr(
                   "Nothing says how long steps take: choose a device with a data sheet, open a "
                   "recording of this model or a smaller one, or calibrate this machine (below).");
    const QString doubt =
        input.times->doubt.empty()
            ? QString()
            : QObject::tr("Uncertain: %1.").arg(fromUtf8(input.times->doubt)) + u' ';
    QString text =
        before + doubt + QObject::tr("Times are estimated: %1.").arg(fromUtf8(input.times->source));
    if (!input.times->link)
        return text + u" "_s +
               QObject::tr("Link: unknown. Give its bandwidth to see several ranks.");
    text += u" "_s + QObject::tr("Link: %1.").arg(fromUtf8(input.times->link->source()));
    if (input.times->linkReach > 0)
        text += u" "_s + QObject::tr("It joins the %1 ranks of a host; give a link for more.")
                             .arg(input.times->linkReach);
    return text;
}

void addCurves(const std::vector<ProjectionRow>& rows, const QString& name, Meaning meaning,
               PlanView& view) {
    if (rows.size() < 2) return;
    LineSeries efficiency{name, {}, meaning, true}, throughput{name, {}, meaning, true};
    BandSeries band{name, {}, {}, meaning};
    for (const ProjectionRow& row : rows) {
        const planning::Forecast& made = row.forecast;
        const double perSecond = made.tokensPerSecond * kThousandth;
        const double tokens = perSecond * made.step.time.seconds();
        efficiency.points << QPointF(row.ranks, 100 * row.efficiency);
        throughput.points << QPointF(row.ranks, perSecond);
        band.low << QPointF(row.ranks, tokens / made.high.seconds());
        band.high << QPointF(row.ranks, tokens / made.low.seconds());
    }
    view.efficiency.push_back(std::move(efficiency));
    view.throughput.push_back(std::move(throughput));
    view.bands.push_back(std::move(band));
}

void addReasons(const std::vector<StrategyPlan>& plans, PlanView& view) {
    for (const StrategyPlan& plan : plans)
        if (!plan.reason.empty())
            view.reasons << QObject::tr("%1: %2").arg(fromUtf8(plan.name), fromUtf8(plan.reason));
}

QString endText(const QString& strategy, std::int32_t ranks, const planning::ProjectionEnd& end) {
    if (end.why.empty()) return {};
    const QString known = ranks == 1
                              ? QObject::tr("Scaling of %1 is known for one rank alone: %2.")
                                    .arg(strategy, fromUtf8(end.why))
                              : QObject::tr("Scaling of %1 is known up to %2 ranks: %3.")
                                    .arg(strategy, QString::number(ranks), fromUtf8(end.why));
    return end.byLink ? known + u' ' + QObject::tr("Give the link's bandwidth for more.") : known;
}

void project(const ModelPlanInput& input, run::Strategy strategy, PlanView& view) {
    run::RunConfig config = input.config;
    config.strategy = strategy;
    view.curvesOf = fromUtf8(entryOf(strategy)->name);
    const auto weak = planning::projectModel(config, *input.times, Scaled::kWeak, kMostRanks);
    const auto strong = planning::projectModel(config, *input.times, Scaled::kStrong, kMostRanks);
    if (!weak.empty())
        view.ends = endText(view.curvesOf, weak.back().ranks,
                            planning::endOf(weak, config, *input.times, kMostRanks));
    for (const auto* rows : {&weak, &strong})
        if (view.aboveLinear.isEmpty())
            view.aboveLinear = fromUtf8(questions::aboveLinear(*rows, *input.times));
    view.weak = questions::projectionTable(weak, Scaled::kWeak);
    view.strong = questions::projectionTable(strong, Scaled::kStrong);
    addCurves(weak, QObject::tr("same batch per rank"), Meaning::kCompute, view);
    addCurves(strong, QObject::tr("same batch in all"), Meaning::kGather, view);
}

struct ShardingLook {
    planning::Sharding sharding;
    Meaning meaning;  ///< of its curve, as the engine's strategies have it
};
constexpr std::array kShardingLooks{
    ShardingLook{planning::Sharding::kNone, Meaning::kReduction},
    ShardingLook{planning::Sharding::kOptimizer, Meaning::kGather},
    ShardingLook{planning::Sharding::kGradients, Meaning::kCopy},
    ShardingLook{planning::Sharding::kParameters, Meaning::kCompute}};

QString formatted(double bytes) {
    return formatBytes(Bytes{std::llround(bytes)});
}

/// State by what it is of, and over ranks.
void addState(const planning::ParameterPlanInput& input, PlanView& view) {
    const planning::StateBytes& state = input.state;
    struct Part {
        QString name;
        Meaning meaning;
        planning::StateBytes bytes;
    };
    const std::array parts{Part{QObject::tr("parameters"),
                                meaningOf(MemoryCategory::kParameterShard),
                                {state.parameters, 0, 0}},
                           Part{QObject::tr("gradients"),
                                meaningOf(MemoryCategory::kGradientShard),
                                {0, state.gradients, 0}},
                           Part{QObject::tr("optimizer state"),
                                meaningOf(MemoryCategory::kOptimizerState),
                                {0, 0, state.optimizer}}};
    for (const Part& part : parts) view.legend.push_back({part.name, part.meaning});
    std::vector<StackedBar> bars;
    std::vector<LineSeries> curves;
    for (const ShardingLook& look : kShardingLooks) {
        const QString name = QString::fromLatin1(entryOf(look.sharding)->name);
        StackedBar& bar = bars.emplace_back();
        bar.label = name;
        for (const Part& part : parts)
            if (const double size = planning::stateBytesPerRank(look.sharding, part.bytes,
                                                                input.parameters, input.ranks);
                size > 0)
                bar.segments.push_back({size, part.meaning, part.name, formatted(size)});
        bar.total = formatted(bar.sum());
        LineSeries& curve = curves.emplace_back(LineSeries{name, {}, look.meaning});
        for (int ranks = 1; ranks <= kMostRanks; ranks *= 2)
            curve.points << QPointF(
                ranks, planning::stateBytesPerRank(look.sharding, state, input.parameters, ranks));
    }
    view.memory = std::move(bars);
    addMemoryCurves(std::move(curves), view);
}

/// "llama-7b: 6,738,415,616 parameters of 2+2+12 bytes each over 8 ranks, ..."
QString stateSourcesOf(const planning::ParameterPlanInput& input) {
    const QString count = formatCount(std::llround(input.parameters));
    const QString what = input.model.empty()
                             ? QObject::tr("%1 parameters").arg(count)
                             : QObject::tr("%1, %2 parameters").arg(fromUtf8(input.model), count);
    return QObject::tr(
               "%1 over %2 ranks, %3 bytes of each kept: its state alone, estimated. The engine "
               "does not train it, so its activations and step time are unknown.")
        .arg(what, formatCount(input.ranks), fromUtf8(planning::textOf(input.state)));
}

Result<planning::ParameterPlanInput> stateInput(const PlanSettings& settings,
                                                const StateModel& model) {
    planning::ParameterPlanInput input;
    const auto parameters =
        model.known != nullptr
            ? Result<double>(static_cast<double>(planning::parameterCount(*model.known)))
            : planning::parseParameters(model.parameters.trimmed().toStdString());
    if (!parameters) return failure(parameters);
    const auto state = planning::parseStateBytes(model.stateBytes.trimmed().toStdString());
    if (!state) return failure(state);
    if (settings.config.ranks < 1) return failure(ErrorCode::kUsage, "ranks must be at least 1");
    if (model.known != nullptr) input.model = model.known->name;
    input.parameters = *parameters;
    input.ranks = settings.config.ranks;
    input.state = *state;
    input.memory = memoryOf(settings);
    return input;
}

/// The tables of `shardscope plan --parameters` and of its models by name.
PlanView stateView(const PlanSettings& settings, const StateModel& model) {
    PlanView view;
    view.start = settings.config;
    view.trains = false;
    const auto input = stateInput(settings, model);
    if (!input) {
        view.problem = fromUtf8(input.error().message) + u'.';
        view.problem[0] = view.problem[0].toUpper();
        return view;
    }
    const std::vector<StrategyPlan> plans = planning::planStrategies(*input);
    view.headline = headlineOf(plans, input->memory, QObject::tr("more ranks, or less state"));
    view.sources = stateSourcesOf(*input);
    addState(*input, view);
    view.strategies = questions::strategyTable(plans);
    addReasons(plans, view);
    view.fitsOn = questions::fitsOnTable(planning::fitsOn(*input));
    if (model.known == nullptr) return view;
    planning::DividedRun run;
    run.model = *model.known;
    run.state = input->state;
    view.divisions = questions::divisionTable(
        planning::planDivisions(run, input->ranks, settings.ranksPerHost, input->memory),
        input->memory);
    return view;
}

/// The strategy that curves are of, which needs several ranks.
run::Strategy strategyOfCurves(const PlanSettings& settings,
                               const std::vector<StrategyPlan>& plans) {
    const StrategyPlan* best = recommended(plans);
    const run::Strategy own = settings.config.strategy;
    const auto chosen = settings.curvesOfRecommended && best != nullptr
                            ? *fromWord<run::Strategy>(best->word)
                            : own;
    return chosen == run::Strategy::kSingle ? run::Strategy::kZero3 : chosen;
}

}  // namespace

std::optional<Bytes> memoryOfDevice(const QString& device) {
    const auto capacity = theory::deviceCapacity(device.toStdString());
    if (!capacity.value) return std::nullopt;
    return Bytes{std::llround(capacity.value->bytes)};
}

PlanView makePlanView(const PlanSettings& settings) {
    if (settings.stateModel) return stateView(settings, *settings.stateModel);
    PlanView view;
    view.start = settings.config;
    std::ignore = planning::takeGivenLink(view.start);  // the run has its own
    const ModelPlanInput input = inputOf(settings);
    const run::RunConfig checked =
        planning::overRanks(input.config, input.config.ranks, run::Strategy::kZero3);
    if (const auto problem = run::findProblem(checked)) {
        view.problem = inFormWords(fromUtf8(problem->sentence));
        view.problem[0] = view.problem[0].toUpper();
        return view;
    }
    const std::vector<StrategyPlan> plans = planning::planModel(input);
    view.headline = headlineOf(
        plans, input.memory, QObject::tr("more ranks, a smaller batch, or computing blocks again"));
    view.sources = sourcesOf(input, settings.recorded.why);
    view.memory = stageBars(checked);
    view.legend = theoryLegend(view.memory);
    view.strategies = questions::strategyTable(plans);
    addReasons(plans, view);
    addMemoryCurves(stageCurves(checked), view);
    view.limits = questions::limitsTable(planning::limitsOf(input));
    if (input.times) view.times = questions::timeTable(plans);
    view.replay = replayOf(input, usesRecording(settings), settings.recorded.why);
    for (const std::string& sentence : questions::timesUnknown(plans))
        view.unknown << fromUtf8(sentence) + u'.';
    if (input.times && input.times->link) project(input, strategyOfCurves(settings, plans), view);
    view.fitsOn = questions::fitsOnTable(planning::fitsOn(input));
    view.divisions = questions::divisionTable(
        planning::planDivisions(planning::dividedRun(input.config), input.config.ranks,
                                settings.ranksPerHost, input.memory),
        input.memory);
    if (const StrategyPlan* best = recommended(plans))
        view.start = planning::overRanks(view.start, settings.config.ranks,
                                         *fromWord<run::Strategy>(best->word));
    return view;
}

}  // namespace shardscope::desktop

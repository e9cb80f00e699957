#include "app/desktop/pages/plan/plan_view.h"

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

/// What was recorded on the same kind of device, else what was calibrated, else the data sheet.
std::optional<planning::PlanTimes> timesOf(const PlanSettings& settings) {
    const PlanTimesPtr& recorded = settings.recorded.times;
    if (recorded != nullptr && recorded->computing.front().config.device == settings.config.device)
        return *recorded;
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

QString headlineOf(const std::vector<StrategyPlan>& plans, const ModelPlanInput& input) {
    if (const StrategyPlan* best = recommended(plans))
        return QObject::tr("Take %1. %2").arg(fromUtf8(best->name), fromUtf8(best->reason));
    if (!input.memory) return QObject::tr("Choose a device to see what fits and what to take.");
    return QObject::tr(
               "Nothing fits into %1: more ranks, a smaller batch, or computing blocks "
               "again.")
        .arg(formatBytes(*input.memory));
}

QString sourcesOf(const ModelPlanInput& input, const QString& notLearnt) {
    const QString before = notLearnt.isEmpty() ? QString() : notLearnt + u' ';
    if (!input.times)
        return before +
               QObject::tr(
                   "Nothing says how long steps take: choose a device with a data sheet, open a "
                   "recording of this model or a smaller one, or run `shardscope calibrate`.");
    QString text =
        before + QObject::tr("Times are estimated: %1.").arg(fromUtf8(input.times->source));
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
    view.weak = questions::projectionTable(weak, Scaled::kWeak);
    view.strong = questions::projectionTable(strong, Scaled::kStrong);
    addCurves(weak, QObject::tr("same batch per rank"), Meaning::kCompute, view);
    addCurves(strong, QObject::tr("same batch in all"), Meaning::kGather, view);
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
    view.headline = headlineOf(plans, input);
    view.sources = sourcesOf(input, settings.recorded.why);
    view.memory = stageBars(checked);
    view.legend = theoryLegend(view.memory);
    view.strategies = questions::strategyTable(plans);
    for (const StrategyPlan& plan : plans)
        if (!plan.reason.empty())
            view.reasons << QObject::tr("%1: %2").arg(fromUtf8(plan.name), fromUtf8(plan.reason));
    view.limits = questions::limitsTable(planning::limitsOf(input));
    if (input.times) view.times = questions::timeTable(plans);
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

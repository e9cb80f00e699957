// What the Plan page shows for its settings: the plans of profiler/planning as bars, tables and
// curves. Pure functions, on any thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/machine_facts.h"
#include "engine/run/config/run_config.h"
#include "profiler/planning/calibration.h"
#include "profiler/planning/model_parallel.h"
#include "profiler/planning/parameter_plan.h"
#include "profiler/planning/plan_times.h"
#include "profiler/questions/answer/answer.h"

#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

using PlanTimesPtr = std::shared_ptr<const planning::PlanTimes>;

/// What the open recording says of computing and link.
struct Learnt {
    PlanTimesPtr times;                    ///< null: none can be learnt from it
    QString why;                           ///< why not, a sentence; empty: there is no recording
    std::optional<run::RunConfig> config;  ///< of its run; absent: it is another tool's
};

/// A model that the engine does not train: its state alone is planned.
struct StateModel {
    const planning::KnownModel* known = nullptr;  ///< null: by the number of its parameters
    QString parameters = QStringLiteral("7e9");   ///< as people write it, where it is not known
    QString stateBytes = QString::fromStdString(planning::textOf(planning::kMixedAdam));
};

struct PlanSettings {
    run::RunConfig config;  ///< its strategy is that of the curves; its link is the plan's
    QString device;         ///< a row of the table of data sheets; empty: this machine's CPU
    std::optional<StateModel> stateModel;  ///< instead of config's model
    int ranksPerHost = 8;
    bool curvesOfRecommended = true;  ///< instead of those of config's strategy
    MachineFacts machine;
    Learnt recorded;
    std::optional<planning::Calibration> calibration;  ///< of this machine's CPU
};

struct PlanView {
    QString problem;      ///< why there is no plan, in the words of the form; empty: there is
    QString headline;     ///< what to take, and why
    QStringList reasons;  ///< a sentence for each strategy
    QString sources;      ///< of times and link, or what is missing for them
    QStringList unknown;  ///< a sentence for each strategy whose step time is unknown
    QString replay;       ///< the error of the model on what was recorded; empty: no times
    QString aboveLinear;  ///< why an efficiency is above 100 %; empty: none is
    QString ends;         ///< why the curves have no more ranks; empty: they have all
    bool trains = true;   ///< `start` can be run
    std::vector<StackedBar> memory;
    std::vector<LegendEntry> legend;
    questions::Table strategies, times, limits, weak, strong, fitsOn, divisions;
    std::vector<LineSeries> memoryOverRanks;  ///< in memoryUnit
    QString memoryUnit;
    std::vector<LineSeries> efficiency;  ///< percent over ranks, weak and strong
    std::vector<LineSeries> throughput;  ///< thousand tokens/s over ranks
    std::vector<BandSeries> bands;       ///< of the throughput
    QString curvesOf;                    ///< the strategy's name
    run::RunConfig start;                ///< the recommended run, or the one that was set
};
[[nodiscard]] PlanView makePlanView(const PlanSettings& settings);

/// What a sheet of data says of a device's memory: "80 GB"; empty: not known.
[[nodiscard]] std::optional<Bytes> memoryOfDevice(const QString& device);

}  // namespace shardscope::desktop

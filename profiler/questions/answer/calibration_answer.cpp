#include "profiler/questions/answer/calibration_answer.h"

#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using planning::Calibration;
using planning::CollectiveCost;
using planning::MachineRate;

std::string quantity(double value, std::string_view unit) {
    return siText(value, unit, Digits::kScreen).joined();
}

std::string nameOf(const run::MeasuredFigure& figure) {
    const auto& words = *entryOf(figure.figure);
    if (words.shape == run::FigureShape::kNone) return words.name;
    const std::string inner = words.shape == run::FigureShape::kProduct
                                  ? fmt::format(" x {}", figure.inner)
                                  : std::string();
    return fmt::format("{} {}, {}{} x {}", toWord(figure.precision), words.name, figure.rows, inner,
                       figure.columns);
}

std::string from(const std::string& low, const std::string& high) {
    return low + " to " + high;
}

Table machineTable(const Calibration& calibration, std::int64_t nowS) {
    Table table{"rates",
                "This machine",
                {{"figure", "figure"},
                 {"best", "best"},
                 {"median", "median"},
                 {"interval", "95 % of the median"},
                 {"samples", "samples", Unit::kCount},
                 {"threads", "threads", Unit::kCount},
                 {"age", "age"}},
                {}};
    for (const MachineRate& rate : calibration.rates) {
        const char* unit = entryOf(rate.what.figure)->unit;
        table.rows.push_back(
            {nameOf(rate.what), quantity(rate.best, unit), quantity(rate.median, unit),
             from(quantity(rate.interval.low, unit), quantity(rate.interval.high, unit)),
             std::int64_t{rate.samples}, std::int64_t{rate.what.threads},
             planning::ageText(rate.unixS, nowS)});
    }
    return table;
}

/// Of a beta as bandwidth: the larger one of an interval is the smaller bandwidth.
std::string bandwidth(double nsPerByte) {
    return nsPerByte > 0 ? quantity(1e9 / nsPerByte, "B/s") : "no limit seen";
}

std::string seconds(double ns) {
    return quantity(ns * 1e-9, "s");
}

std::string placeOf(const CollectiveCost& cost) {
    std::string place = fmt::format("{}, {} ranks", entryOf(cost.communicator)->name, cost.ranks);
    if (cost.hosts > 1) place += fmt::format(" on {} hosts", cost.hosts);
    return place + (cost.sharedCores ? " *" : "");
}

Table collectiveTable(const Calibration& calibration, std::int64_t nowS) {
    Table table{"collectives",
                "Collectives: time = alpha + beta x size of the whole payload, fitted to the "
                "shortest time of each size",
                {{"ranks", "ranks by"},
                 {"operation", "operation"},
                 {"alpha", "alpha"},
                 {"alpha_interval", "95 %"},
                 {"bandwidth", "1 / beta"},
                 {"bandwidth_interval", "95 %"},
                 {"bus", "best bus"},
                 {"sizes", "sizes"},
                 {"age", "age"}},
                {}};
    for (const CollectiveCost& cost : calibration.collectives)
        table.rows.push_back(
            {placeOf(cost), toWord(cost.operation), seconds(cost.fit.latencyNs),
             from(seconds(cost.alphaNs.low), seconds(cost.alphaNs.high)),
             bandwidth(cost.fit.nsPerByte),
             from(bandwidth(cost.betaNsPerByte.high), bandwidth(cost.betaNsPerByte.low)),
             cost.bestBusBandwidth ? Cell(quantity(*cost.bestBusBandwidth, "B/s")) : Cell(),
             from(sizeText(cost.smallest), sizeText(cost.largest)),
             planning::ageText(cost.unixS, nowS)});
    return table;
}

std::vector<std::string> sentencesOf(const Calibration& calibration, std::int64_t nowS) {
    std::vector<std::string> lines{fmt::format("{}, {}", calibration.host, calibration.device)};
    if (calibration.kind == run::Device::kCpu)
        lines.front() += ", " + counted(calibration.cores, "core");
    lines.push_back(fmt::format("measured {} ago{} by {}",
                                planning::ageText(calibration.unixS, nowS),
                                calibration.quick ? ", quickly," : "", calibration.product));
    if (nowS - calibration.unixS > planning::kOldCalibrationS)
        lines.emplace_back("That is long ago: calibrate again.");
    if (std::any_of(calibration.collectives.begin(), calibration.collectives.end(),
                    [](const CollectiveCost& cost) { return cost.sharedCores; }))
        lines.emplace_back("* these ranks shared cores: on a core each they are faster");
    return lines;
}

}  // namespace

Answer calibrationAnswer(const Calibration& calibration, std::int64_t nowS) {
    Answer answer;
    answer.sentences = sentencesOf(calibration, nowS);
    answer.tables = {machineTable(calibration, nowS), collectiveTable(calibration, nowS)};
    return answer;
}

}  // namespace shardscope::questions

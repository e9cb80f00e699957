#include "app/cli/plan/calibration_text.h"

#include "app/cli/answers/report_table.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::cli {
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

std::string machineTable(const Calibration& calibration, std::int64_t nowS) {
    TextTable table(
        {"figure", "best", "median", "95 % of the median", "samples", "threads", "age"});
    for (const MachineRate& rate : calibration.rates) {
        const char* unit = entryOf(rate.what.figure)->unit;
        table.add({nameOf(rate.what), quantity(rate.best, unit), quantity(rate.median, unit),
                   fmt::format("{} to {}", quantity(rate.interval.low, unit),
                               quantity(rate.interval.high, unit)),
                   fmt::format("{}", rate.samples), fmt::format("{}", rate.what.threads),
                   planning::ageText(rate.unixS, nowS)});
    }
    return table.text();
}

/// Of a beta as bandwidth: the larger one of an interval is the smaller bandwidth.
std::string bandwidth(double nsPerByte) {
    return nsPerByte > 0 ? quantity(1e9 / nsPerByte, "B/s") : "no limit seen";
}

std::string placeOf(const CollectiveCost& cost) {
    std::string place = fmt::format("{}, {} ranks", entryOf(cost.communicator)->name, cost.ranks);
    if (cost.hosts > 1) place += fmt::format(" on {} hosts", cost.hosts);
    return place + (cost.sharedCores ? " *" : "");
}

std::string collectiveTable(const Calibration& calibration, std::int64_t nowS) {
    TextTable table(
        {"ranks by", "operation", "alpha", "95 %", "1 / beta", "95 %", "best bus", "sizes", "age"});
    for (const CollectiveCost& cost : calibration.collectives)
        table.add({placeOf(cost), toWord(cost.operation), quantity(cost.fit.latencyNs * 1e-9, "s"),
                   fmt::format("{} to {}", quantity(cost.alphaNs.low * 1e-9, "s"),
                               quantity(cost.alphaNs.high * 1e-9, "s")),
                   bandwidth(cost.fit.nsPerByte),
                   fmt::format("{} to {}", bandwidth(cost.betaNsPerByte.high),
                               bandwidth(cost.betaNsPerByte.low)),
                   cost.bestBusBandwidth ? quantity(*cost.bestBusBandwidth, "B/s") : "n/a",
                   fmt::format("{} to {}", sizeText(cost.smallest), sizeText(cost.largest)),
                   planning::ageText(cost.unixS, nowS)});
    return table.text();
}

std::string firstLines(const Calibration& calibration, std::int64_t nowS) {
    std::string text = fmt::format("{}, {}", calibration.host, calibration.device);
    if (calibration.kind == run::Device::kCpu) text += ", " + counted(calibration.cores, "core");
    text += fmt::format("\nmeasured {} ago{} by {}\n", planning::ageText(calibration.unixS, nowS),
                        calibration.quick ? ", quickly," : "", calibration.product);
    if (nowS - calibration.unixS > planning::kOldCalibrationS)
        text += "That is long ago: run `shardscope calibrate` again.\n";
    return text;
}

}  // namespace

std::string calibrationText(const Calibration& calibration, std::int64_t nowS) {
    std::string text = firstLines(calibration, nowS);
    if (!calibration.rates.empty()) text += '\n' + machineTable(calibration, nowS);
    if (calibration.collectives.empty()) return text;
    text += '\n' + collectiveTable(calibration, nowS) +
            "time = alpha + beta x size, of whole payloads; fitted to the shortest time of each "
            "size\n";
    if (std::any_of(calibration.collectives.begin(), calibration.collectives.end(),
                    [](const CollectiveCost& cost) { return cost.sharedCores; }))
        text += "* these ranks shared cores: on a core each they are faster\n";
    return text;
}

}  // namespace shardscope::cli

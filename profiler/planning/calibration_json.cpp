// Calibrations as JSON and back: every field, by name.
#include "profiler/planning/calibration.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace shardscope::planning {
namespace {

using Json = nlohmann::ordered_json;

tl::unexpected<Error> damaged(const std::string& why) {
    return failure(ErrorCode::kUnreadable, "this is not a calibration: " + why);
}

Json jsonOf(const Interval& interval) {
    return Json::array({interval.low, interval.high});
}

Json jsonOf(const MachineRate& rate) {
    Json json = {{"figure", toWord(rate.what.figure)},
                 {"unit", entryOf(rate.what.figure)->unit},
                 {"threads", rate.what.threads},
                 {"best", rate.best},
                 {"median", rate.median},
                 {"median_interval", jsonOf(rate.interval)},
                 {"samples", rate.samples},
                 {"unix_s", rate.unixS}};
    if (entryOf(rate.what.figure)->shape == run::FigureShape::kNone) return json;
    json["precision"] = toWord(rate.what.precision);
    json["rows"] = rate.what.rows;
    json["inner"] = rate.what.inner;
    json["columns"] = rate.what.columns;
    return json;
}

Json jsonOf(const CollectiveCost& cost) {
    return {{"operation", toWord(cost.operation)},
            {"communicator", toWord(cost.communicator)},
            {"ranks", cost.ranks},
            {"hosts", cost.hosts},
            {"threads", cost.threads},
            {"shared_cores", cost.sharedCores},
            {"alpha_ns", cost.fit.latencyNs},
            {"alpha_ns_interval", jsonOf(cost.alphaNs)},
            {"beta_ns_per_byte", cost.fit.nsPerByte},
            {"beta_ns_per_byte_interval", jsonOf(cost.betaNsPerByte)},
            {"sizes", cost.fit.sizes},
            {"smallest_bytes", cost.smallest.count},
            {"largest_bytes", cost.largest.count},
            {"rounds", cost.rounds},
            {"best_bus_bandwidth", cost.bestBusBandwidth ? Json(*cost.bestBusBandwidth) : Json()},
            {"unix_s", cost.unixS}};
}

// Exceptions of the JSON library stay in this file.

template <Worded Enum>
Enum wordAt(const Json& json, const char* key) {
    const auto word = json.at(key).get<std::string>();
    const auto value = fromWord<Enum>(word);
    if (!value) throw std::invalid_argument(fmt::format("{} is '{}', which is unknown", key, word));
    return *value;
}

double numberAt(const Json& json, const char* key) {
    const auto value = json.at(key).get<double>();
    if (!std::isfinite(value) || value < 0)
        throw std::invalid_argument(fmt::format("{} is {}, which cannot be", key, value));
    return value;
}

Interval intervalAt(const Json& json, const char* key) {
    const Json& both = json.at(key);
    return {both.at(0).get<double>(), both.at(1).get<double>()};
}

MachineRate rateFrom(const Json& json) {
    MachineRate rate;
    rate.what.figure = wordAt<run::MachineFigure>(json, "figure");
    rate.what.threads = json.at("threads").get<std::int32_t>();
    rate.best = numberAt(json, "best");
    rate.median = numberAt(json, "median");
    rate.interval = intervalAt(json, "median_interval");
    rate.samples = json.at("samples").get<std::int32_t>();
    rate.unixS = json.at("unix_s").get<std::int64_t>();
    if (entryOf(rate.what.figure)->shape == run::FigureShape::kNone) return rate;
    rate.what.precision = wordAt<run::Precision>(json, "precision");
    rate.what.rows = json.at("rows").get<std::int64_t>();
    rate.what.inner = json.at("inner").get<std::int64_t>();
    rate.what.columns = json.at("columns").get<std::int64_t>();
    return rate;
}

CollectiveCost costFrom(const Json& json) {
    CollectiveCost cost;
    cost.operation = wordAt<CollectiveOp>(json, "operation");
    cost.communicator = wordAt<run::CommunicatorKind>(json, "communicator");
    cost.ranks = json.at("ranks").get<std::int32_t>();
    cost.hosts = json.at("hosts").get<std::int32_t>();
    cost.threads = json.at("threads").get<std::int32_t>();
    cost.sharedCores = json.at("shared_cores").get<bool>();
    cost.fit = {numberAt(json, "alpha_ns"), numberAt(json, "beta_ns_per_byte"),
                json.at("sizes").get<std::int64_t>()};
    cost.alphaNs = intervalAt(json, "alpha_ns_interval");
    cost.betaNsPerByte = intervalAt(json, "beta_ns_per_byte_interval");
    cost.smallest = {json.at("smallest_bytes").get<std::int64_t>()};
    cost.largest = {json.at("largest_bytes").get<std::int64_t>()};
    cost.rounds = json.at("rounds").get<std::int32_t>();
    if (!json.at("best_bus_bandwidth").is_null())
        cost.bestBusBandwidth = numberAt(json, "best_bus_bandwidth");
    cost.unixS = json.at("unix_s").get<std::int64_t>();
    return cost;
}

Calibration calibrationFrom(const Json& json) {
    Calibration calibration;
    calibration.host = json.at("host").get<std::string>();
    calibration.device = json.at("device").get<std::string>();
    calibration.kind = wordAt<run::Device>(json, "kind");
    calibration.cores = json.at("cores").get<std::int32_t>();
    calibration.product = json.at("product").get<std::string>();
    calibration.unixS = json.at("unix_s").get<std::int64_t>();
    calibration.quick = json.at("quick").get<bool>();
    for (const Json& each : json.at("machine")) calibration.rates.push_back(rateFrom(each));
    for (const Json& each : json.at("collectives"))
        calibration.collectives.push_back(costFrom(each));
    return calibration;
}

}  // namespace

std::string toJson(const Calibration& calibration) {
    Json machine = Json::array(), collectives = Json::array();
    for (const MachineRate& rate : calibration.rates) machine.push_back(jsonOf(rate));
    for (const CollectiveCost& cost : calibration.collectives) collectives.push_back(jsonOf(cost));
    const Json json = {{"schema", kCalibrationSchema},  {"host", calibration.host},
                       {"device", calibration.device},  {"kind", toWord(calibration.kind)},
                       {"cores", calibration.cores},    {"product", calibration.product},
                       {"unix_s", calibration.unixS},   {"quick", calibration.quick},
                       {"machine", std::move(machine)}, {"collectives", std::move(collectives)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<Calibration> parseCalibration(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) return damaged("it is not a JSON object");
    try {
        if (const auto schema = json.at("schema").get<std::string>(); schema != kCalibrationSchema)
            return damaged(
                fmt::format("its schema is '{}' and not {}", schema, kCalibrationSchema));
        return calibrationFrom(json);
    } catch (const std::exception& error) {  // of JSON, or ours above
        return damaged(error.what());
    }
}

}  // namespace shardscope::planning

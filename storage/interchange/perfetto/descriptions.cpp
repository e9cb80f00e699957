#include "storage/interchange/perfetto/descriptions.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace shardscope::interchange {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kMark = "shardscope";
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 60;

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Deep nesting is no description, and parsing it would be deep as well.
Json parse(std::string_view text) {
    constexpr int kDeepest = 4;
    int depth = 0;
    const auto shallow = [&](int level, Json::parse_event_t, Json&) {
        depth = std::max(depth, level);
        return depth <= kDeepest;
    };
    return Json::parse(text, shallow, false);
}

std::int64_t integer(const Json& json, const char* key, std::int64_t most) {
    const auto at = json.find(key);
    if (at == json.end() || !at->is_number_integer()) return 0;
    const auto value = at->get<std::int64_t>();
    return value > most || value < -most ? 0 : value;
}

std::string text(const Json& json, const char* key) {
    const auto at = json.find(key);
    return at == json.end() || !at->is_string() ? std::string() : at->get<std::string>();
}

bool isOurs(const Json& json) {
    return json.is_object() && json.contains(kMark);
}

}  // namespace

std::string describe(const ProcessDescription& process) {
    const auto& [rank, run, shift] = process;
    return dump({{kMark, kVersion},
                 {"rank", rank.rank.value},
                 {"pid", rank.pid},
                 {"device", rank.device},
                 {"shift_ns", shift.ns},
                 {"run",
                  {{"model", run.model},
                   {"strategy", run.strategy},
                   {"world_size", run.worldSize},
                   {"parameters", run.parameters},
                   {"started_unix_ns", run.startedUnixNs},
                   {"ended_ns", run.ended.ns},
                   {"config", run.configJson}}}});
}

std::string describe(const LaneFacts& lane) {
    return dump({{kMark, kVersion},
                 {"lane", lane.lane.value},
                 {"role", static_cast<int>(lane.role)},
                 {"name", lane.name},
                 {"unit", lane.unit},
                 {"order", lane.order}});
}

std::string describeFacts() {
    return dump({{kMark, kVersion}, {"facts", true}});
}

std::optional<ProcessDescription> parseProcess(std::string_view description) {
    const Json json = parse(description);
    if (!isOurs(json) || !json.contains("rank")) return std::nullopt;
    const std::int64_t rank = integer(json, "rank", kMostRanks - 1);
    if (rank < 0) return std::nullopt;
    ProcessDescription process;
    process.rank.rank = {static_cast<std::uint32_t>(rank)};
    process.rank.pid = integer(json, "pid", std::numeric_limits<std::int64_t>::max());
    process.rank.device = text(json, "device");
    process.shift = {integer(json, "shift_ns", kTimeLimit)};
    const auto run = json.find("run");
    if (run == json.end() || !run->is_object()) return process;
    process.run.model = text(*run, "model");
    process.run.strategy = text(*run, "strategy");
    process.run.configJson = text(*run, "config");
    process.run.worldSize = static_cast<std::int32_t>(integer(*run, "world_size", kMostRanks));
    process.run.parameters = integer(*run, "parameters", std::numeric_limits<std::int64_t>::max());
    process.run.startedUnixNs = integer(*run, "started_unix_ns", std::int64_t{1} << 61);
    process.run.ended = {integer(*run, "ended_ns", kTimeLimit)};
    return process;
}

std::optional<LaneFacts> parseLane(std::string_view description) {
    const Json json = parse(description);
    if (!isOurs(json) || !json.contains("lane")) return std::nullopt;
    const std::int64_t lane = integer(json, "lane", std::numeric_limits<std::uint32_t>::max());
    const std::int64_t role = integer(json, "role", static_cast<int>(LaneRole::kCounter));
    if (lane < 0 || role < static_cast<int>(LaneRole::kCompute)) return std::nullopt;
    LaneFacts facts;
    facts.lane = {static_cast<std::uint32_t>(lane)};
    facts.role = static_cast<LaneRole>(role);
    facts.name = text(json, "name");
    facts.unit = text(json, "unit");
    facts.order =
        static_cast<std::int32_t>(integer(json, "order", std::numeric_limits<std::int32_t>::max()));
    return facts;
}

bool isFacts(std::string_view description) {
    const Json json = parse(description);
    return isOurs(json) && json.contains("facts");
}

}  // namespace shardscope::interchange

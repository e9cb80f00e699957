#include "storage/interchange/memory_snapshot/stored_snapshot.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope::interchange {
namespace {

using Json = nlohmann::json;

/// Lists of a snapshot that an import reads, one more than its last device.
constexpr std::int64_t kMostDevices = 257;
constexpr const char* kImported = "memory snapshot";

SnapshotLanes lanesOf(const Json& row) {
    const auto lane = [&](const char* key) { return LaneId{row.at(key).get<std::uint32_t>()}; };
    return {{row.at("rank").get<std::uint32_t>()},
            row.at("device").get<std::int64_t>(),
            lane("history"),
            lane("state"),
            lane("annotations"),
            lane("lone_annotations")};
}

}  // namespace

std::string snapshotConfig(const StoredSnapshot& snapshot) {
    Json ranks = Json::array();
    for (const SnapshotLanes& lanes : snapshot.ranks)
        ranks.push_back({{"rank", lanes.rank.value},
                         {"device", lanes.device},
                         {"history", lanes.history.value},
                         {"state", lanes.state.value},
                         {"annotations", lanes.annotations.value},
                         {"lone_annotations", lanes.loneAnnotations.value}});
    Json config = {{"imported", kImported}, {"devices", snapshot.devices}, {"ranks", ranks}};
    config["document"] = Json::parse(snapshot.document, nullptr, false);
    return config.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<StoredSnapshot> storedSnapshots(const RunFacts& run) {
    std::vector<StoredSnapshot> found;
    const Json config = Json::parse(run.configJson, nullptr, false);
    if (!config.is_object() || !config.contains("traces")) return found;
    for (const Json& trace : config["traces"]) {
        // Written by an import of ours; a file that says something else was not.
        try {
            if (trace.value("imported", "") != kImported) continue;
            StoredSnapshot snapshot;
            for (const Json& row : trace.at("ranks")) snapshot.ranks.push_back(lanesOf(row));
            snapshot.devices = trace.at("devices").get<std::int64_t>();
            const auto isDevice = [](std::int64_t number) {
                return number >= 0 && number < kMostDevices;
            };
            if (!isDevice(snapshot.devices) ||
                !std::all_of(snapshot.ranks.begin(), snapshot.ranks.end(),
                             [&](const SnapshotLanes& lanes) { return isDevice(lanes.device); }))
                continue;
            snapshot.document = trace.at("document").dump();
            found.push_back(std::move(snapshot));
        } catch (const Json::exception&) {
            continue;
        }
    }
    return found;
}

}  // namespace shardscope::interchange

#include "storage/interchange/memory_snapshot/stored_snapshot.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/memory_snapshot/snapshot_json.h"
#include "storage/model/rank_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

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

constexpr std::size_t kBatch = 1000;  ///< entries a reader holds on its stack
constexpr std::size_t kMostMemos = 1u << 20;
/// The least that is written once and referred to.
constexpr std::size_t kWorthSharing = 16;

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

std::string_view StoredSnapshotWriter::text(RankId rank, StringId id) {
    return m_scope.reader().text(rank, id);
}

void StoredSnapshotWriter::readArguments(RankId rank, StringId id) {
    m_json = text(rank, id);
    m_members.clear();
    TextFlags flags;
    const char* end = m_json.data() + m_json.size();
    if (readMembers(m_json.data(), end, m_members, flags) != end) m_members.clear();
}

std::optional<std::int64_t> StoredSnapshotWriter::argument(std::string_view key) const {
    return parseInteger(valueOf(m_members, key));
}

std::int64_t StoredSnapshotWriter::microseconds(Timestamp time) const {
    return (m_scope.summary().run.startedUnixNs + time.ns) / 1000;
}

void StoredSnapshotWriter::member(std::string_view key, std::string_view json) {
    m_pickle.text(key);
    const bool shared =
        json.size() >= kWorthSharing && (json.front() == '[' || json.front() == '{');
    if (shared)
        if (const auto known = m_memos.find(std::string(json)); known != m_memos.end())
            return m_pickle.recall(known->second);
    writeJson(m_pickle, nlohmann::json::parse(json, nullptr, false), key);
    if (shared && m_memos.size() < kMostMemos) m_memos.emplace(json, m_pickle.remember());
}

/// Of what the event says itself an argument says otherwise: null, that it was not there.
void StoredSnapshotWriter::write(RankId rank, const Entry& entry) {
    readArguments(rank, entry.arguments);
    const auto own = [&](std::string_view key) { return valueOf(m_members, key).empty(); };
    m_pickle.beginDict();
    if (own("action")) {
        m_pickle.text("action");
        m_pickle.text(!entry.memory     ? text(rank, entry.name)
                      : entry.allocated ? "alloc"
                                        : "free_completed");
    }
    if (entry.memory && own("addr"))
        m_pickle.entry("addr", static_cast<std::int64_t>(entry.address));
    if (entry.memory && own("size")) m_pickle.entry("size", entry.size);
    if (own("time_us")) m_pickle.entry("time_us", microseconds(entry.time));
    for (const Member& each : m_members) {
        const bool absent = each.value == "null" &&
                            (each.key == "addr" || each.key == "size" || each.key == "time_us");
        if (each.key != "entry" && !absent) member(each.key, each.value);
    }
    m_pickle.endDict();
}

Result<std::uint64_t> StoredSnapshotWriter::history(const SnapshotLanes& lanes) {
    std::vector<Entry> entries;
    auto walked = m_scope.forEachMemoryEvent(lanes.rank, [&](const MemoryEvent& event) {
        readArguments(lanes.rank, event.arguments);
        if (const auto index = argument("entry"))
            entries.push_back({*index,
                               event.time,
                               event.address,
                               event.size.count,
                               true,
                               event.action == MemoryAction::kAllocate,
                               {},
                               event.arguments});
    });
    if (!walked) return failure(walked);
    LaneFacts lane;
    lane.rank = lanes.rank;
    lane.lane = lanes.history;
    walked = m_scope.forEachInstant(lane, [&](const InstantEvent& event) {
        readArguments(lanes.rank, event.arguments);
        if (const auto index = argument("entry"))
            entries.push_back(
                {*index, event.time, 0, 0, false, false, event.name, event.arguments});
    });
    if (!walked) return failure(walked);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.index < b.index; });
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if ((i + 1) % kBatch == 0) m_pickle.nextItems();
        write(lanes.rank, entries[i]);
    }
    return entries.size();
}

Result<void> StoredSnapshotWriter::segments(const std::vector<SnapshotLanes>& ranks) {
    struct State {
        std::int64_t segment = 0;
        bool block = false;
        RankId rank;
        StringId arguments;
    };
    std::vector<State> states;
    for (const SnapshotLanes& lanes : ranks) {
        LaneFacts lane;
        lane.rank = lanes.rank;
        lane.lane = lanes.state;
        auto walked = m_scope.forEachInstant(lane, [&](const InstantEvent& event) {
            const bool block = text(lanes.rank, event.name) == "block";
            readArguments(lanes.rank, event.arguments);
            if (const auto segment = argument("segment"))
                states.push_back({*segment, block, lanes.rank, event.arguments});
        });
        if (!walked) return walked;
    }
    std::stable_sort(states.begin(), states.end(),
                     [](const State& a, const State& b) { return a.segment < b.segment; });
    const auto members = [&](const State& state) {
        readArguments(state.rank, state.arguments);
        for (const Member& each : m_members)
            if (each.key != "segment") member(each.key, each.value);
    };
    for (std::size_t i = 0; i < states.size();) {
        const State& segment = states[i++];
        if (segment.block) continue;
        m_pickle.nextItems();
        m_pickle.beginDict();
        members(segment);
        m_pickle.text("blocks");
        m_pickle.beginList();
        for (; i < states.size() && states[i].block && states[i].segment == segment.segment; ++i) {
            m_pickle.nextItems();
            m_pickle.beginDict();
            members(states[i]);
            m_pickle.endDict();
        }
        m_pickle.endList();
        m_pickle.endDict();
    }
    return {};
}

Result<void> StoredSnapshotWriter::annotations(const std::vector<SnapshotLanes>& ranks) {
    struct Stage {
        std::int64_t index = 0;
        std::string stage, name;
        std::int64_t device = 0, us = 0;
    };
    std::vector<Stage> stages;
    for (const SnapshotLanes& lanes : ranks) {
        LaneFacts lane;
        lane.rank = lanes.rank;
        lane.lane = lanes.annotations;
        auto walked = m_scope.forEachSpan(lane, [&](const SpanEvent& span) {
            const std::string name(text(lanes.rank, span.name));
            readArguments(lanes.rank, span.arguments);
            const auto start = argument("start"), end = argument("end");
            if (!start || !end) return;
            const std::int64_t device = argument("device").value_or(lanes.device);
            stages.push_back({*start, "START", name, device, microseconds(span.start)});
            stages.push_back({*end, "END", name, device, microseconds(span.end())});
        });
        if (!walked) return walked;
        lane.lane = lanes.loneAnnotations;
        walked = m_scope.forEachInstant(lane, [&](const InstantEvent& event) {
            const std::string name(text(lanes.rank, event.name));
            readArguments(lanes.rank, event.arguments);
            if (const auto index = argument("entry"))
                stages.push_back({*index, textOf(valueOf(m_members, "stage")), name,
                                  argument("device").value_or(lanes.device),
                                  microseconds(event.time)});
        });
        if (!walked) return walked;
    }
    std::stable_sort(stages.begin(), stages.end(),
                     [](const Stage& a, const Stage& b) { return a.index < b.index; });
    for (const Stage& stage : stages) {
        m_pickle.nextItems();
        m_pickle.beginDict();
        m_pickle.entry("stage", stage.stage);
        m_pickle.entry("name", stage.name);
        m_pickle.entry("device", stage.device);
        m_pickle.entry("time_us", stage.us);
        m_pickle.endDict();
    }
    return {};
}

}  // namespace shardscope::interchange

#include "storage/interchange/nsys/lane_targets.h"

#include "storage/model/rank_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace shardscope::interchange::nsys {
namespace {

using Json = nlohmann::json;

std::string textOf(const Json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
}

void addLane(RankOrigin& origin, const std::string& imported, const Json& row) {
    constexpr std::size_t kParts = 4;
    if (!row.is_array() || row.size() < kParts || !row[0].is_number_unsigned()) return;
    origin.lanes[{row[0].get<std::uint32_t>()}] = {imported, textOf(row[1]), textOf(row[2]),
                                                   textOf(row[3])};
}

void addNames(std::map<std::int64_t, std::string>& names, const Json& rows) {
    for (const Json& row : rows)
        if (row.is_array() && row.size() == 2 && row[0].is_number_integer())
            names[row[0].get<std::int64_t>()] = textOf(row[1]);
}

void addTrace(std::map<RankId, RankOrigin>& origins, const Json& trace) {
    if (!trace.is_object() || !trace.contains("rank") || !trace["rank"].is_number_unsigned())
        return;
    RankOrigin& origin = origins[{trace["rank"].get<std::uint32_t>()}];
    const std::string imported = textOf(trace.value("imported", Json()));
    for (const Json& row : trace.value("lanes", Json::array())) addLane(origin, imported, row);
    addNames(origin.threads, trace.value("threads", Json::array()));
    addNames(origin.domains, trace.value("domains", Json::array()));
    const Json device = trace.value("device", Json::object());
    if (!device.is_object()) return;
    for (const auto& [key, value] : device.items())
        if (value.is_number_integer()) origin.device[key] = value.get<std::int64_t>();
    origin.chipName = textOf(device.value("chipName", Json()));
}

std::int64_t numberOf(std::string_view text, std::int64_t otherwise) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? number : otherwise;
}

/// "CUDA calls (thread 123)"
std::optional<std::int64_t> threadIn(std::string_view name) {
    const std::size_t at = name.find("(thread ");
    if (at == std::string_view::npos || name.back() != ')') return std::nullopt;
    const std::int64_t number = numberOf(name.substr(at + 8, name.size() - at - 9), -1);
    return number < 0 ? std::nullopt : std::optional(number);
}

constexpr std::int64_t kTidMask = 0xFFFFFF;

LaneTarget table(Activity activity) {
    LaneTarget target;
    target.kind = LaneTarget::Kind::kTable;
    target.activity = activity;
    return target;
}
LaneTarget ranges() {
    LaneTarget target;
    target.kind = LaneTarget::Kind::kNvtx;
    return target;
}

LaneTarget ofKineto(const std::string& category, LaneRole role) {
    if (role == LaneRole::kCompute || role == LaneRole::kCommunication)
        return table(Activity::kKernel);
    if (category == "gpu_memset") return table(Activity::kMemset);
    if (role == LaneRole::kCopy) return table(Activity::kMemcpy);
    if (role == LaneRole::kRuntime) return table(Activity::kRuntime);
    if (category == "cuda_sync") return table(Activity::kSynchronization);
    if (category == "overhead") return table(Activity::kOverhead);
    const bool none =
        category == "gpu_user_annotation" || category == "flow" || role == LaneRole::kSync;
    return none ? LaneTarget() : ranges();
}

LaneTarget ofExport(const std::string& category) {
    if (category.starts_with("nvtx")) return ranges();
    if (category == "collective_kernel") return table(Activity::kKernel);
    const TableSpec* spec = specOfCategory(category);
    return spec == nullptr ? LaneTarget() : table(spec->activity);
}

}  // namespace

std::map<RankId, RankOrigin> originsOf(const std::string& configJson) {
    std::map<RankId, RankOrigin> origins;
    const Json config = Json::parse(configJson, nullptr, false);
    if (!config.is_object() || !config.contains("traces") || !config["traces"].is_array())
        return origins;
    for (const Json& trace : config["traces"]) addTrace(origins, trace);
    return origins;
}

LaneTargets::LaneTargets(const RecordingSummary& summary, std::map<RankId, RankOrigin> origins)
    : m_summary(&summary), m_origins(std::move(origins)) {
    std::map<std::string, std::int64_t> gpus;
    std::map<std::int32_t, std::map<std::string, std::int64_t>> devicesOfHost;
    for (const RankFacts& rank : summary.ranks) {
        // Processes of several hosts may have one number: hosts are distinguished as machines.
        const std::int64_t machine = std::int64_t{rank.host & 0x7F} + 1;
        const std::int64_t pid = rank.pid > 0 ? rank.pid & kTidMask : rank.rank.value + 1;
        m_globalPids[rank.rank] = machine << 48 | pid << 24;
        const auto facts =
            std::find_if(summary.devices.begin(), summary.devices.end(),
                         [&](const DeviceFacts& device) { return device.rank == rank.rank; });
        const std::string key = facts == summary.devices.end() || facts->uuid.empty()
                                    ? "rank " + std::to_string(rank.rank.value)
                                    : facts->uuid;
        m_gpus[rank.rank] =
            gpus.try_emplace(key, static_cast<std::int64_t>(gpus.size())).first->second;
        auto& devices = devicesOfHost[rank.host];
        m_devices[rank.rank] =
            devices.try_emplace(key, static_cast<std::int64_t>(devices.size())).first->second;
        const RankOrigin& from = origin(rank.rank);
        if (const auto known = from.device.find("device"); known != from.device.end())
            m_devices[rank.rank] = known->second;
    }
    for (const LaneFacts& lane : summary.lanes)
        if (lane.role == LaneRole::kRuntime)
            if (const auto thread = threadIn(lane.name))
                m_mainThreads.try_emplace(lane.rank, *thread & kTidMask);
}

const RankOrigin& LaneTargets::origin(RankId rank) const {
    static const RankOrigin kNone;
    const auto at = m_origins.find(rank);
    return at == m_origins.end() ? kNone : at->second;
}
std::int64_t LaneTargets::globalPid(RankId rank) const {
    const auto at = m_globalPids.find(rank);
    return at == m_globalPids.end() ? std::int64_t{1} << 48 : at->second;
}
std::int64_t LaneTargets::device(RankId rank) const {
    const auto at = m_devices.find(rank);
    return at == m_devices.end() ? rank.value : at->second;
}
std::int64_t LaneTargets::gpu(RankId rank) const {
    const auto at = m_gpus.find(rank);
    return at == m_gpus.end() ? rank.value : at->second;
}
std::int64_t LaneTargets::mainThread(RankId rank) const {
    const auto at = m_mainThreads.find(rank);
    return at == m_mainThreads.end() ? globalPid(rank) >> 24 & kTidMask : at->second;
}

LaneTarget LaneTargets::imported(const LaneFacts& lane, const LaneOrigin& origin) const {
    LaneTarget target = origin.imported == "nsys" ? ofExport(origin.category)
                                                  : ofKineto(origin.category, lane.role);
    target.ofExport = origin.imported == "nsys";
    target.domains = &this->origin(lane.rank).domains;
    const std::int64_t own = globalPid(lane.rank);
    const std::int64_t pid = numberOf(origin.process, own >> 24 & kTidMask) & kTidMask;
    const std::int64_t tid = numberOf(origin.thread, lane.lane.value) & kTidMask;
    target.globalPid = own;
    target.globalTid = (own & ~((kTidMask << 24) | kTidMask)) | pid << 24 | tid;
    target.device = numberOf(origin.process, device(lane.rank));
    target.stream = numberOf(origin.thread, 0);
    return target;
}

LaneTarget LaneTargets::recorded(const LaneFacts& lane) const {
    LaneTarget target = ranges();
    if (isStreamLane(lane.lane)) {
        target = table(lane.role == LaneRole::kCopy ? Activity::kMemcpy : Activity::kKernel);
        target.correlated = lane.role != LaneRole::kCommunication;
    } else if (lane.role == LaneRole::kRuntime) {
        target = table(Activity::kRuntime);
    } else if (lane.role == LaneRole::kSync) {
        target = table(Activity::kSynchronization);
    }
    // The step thread: what it computes, its first lane of operators and its steps.
    const std::int64_t thread = isOfStepThread(lane.lane) ? mainThread(lane.rank) : lane.lane.value;
    target.globalPid = globalPid(lane.rank);
    target.globalTid =
        target.globalPid |
        ((lane.role == LaneRole::kRuntime ? threadIn(lane.name).value_or(mainThread(lane.rank))
                                          : thread) &
         kTidMask);
    target.device = device(lane.rank);
    return target;
}

LaneTarget LaneTargets::of(const LaneFacts& lane) const {
    if (lane.role == LaneRole::kCounter) return {};
    const auto& lanes = origin(lane.rank).lanes;
    const auto at = lanes.find(lane.lane);
    return at == lanes.end() ? recorded(lane) : imported(lane, at->second);
}

}  // namespace shardscope::interchange::nsys

#include "storage/interchange/nsys/lanes.h"

#include "storage/interchange/json_text.h"

namespace shardscope::interchange::nsys {
namespace {

constexpr std::string_view kCollectiveCategory = "collective_kernel";
/// Of all NVTX lanes the beginning.
constexpr std::string_view kNvtxCategory = "nvtx";
constexpr std::string_view kNvtxRangeCategory = "nvtx_range";
constexpr std::string_view kNvtxMarkCategory = "nvtx_mark";
/// Threads beyond this share a lane: a rank's lanes are limited.
constexpr std::size_t kMostLanes = 3000;
constexpr std::int64_t kOtherThreads = -1;

LaneRole roleOf(Activity activity) {
    switch (activity) {
        case Activity::kKernel:
        case Activity::kGraphTrace:
            return LaneRole::kCompute;
        case Activity::kMemcpy:
        case Activity::kMemset:
            return LaneRole::kCopy;
        case Activity::kRuntime:
            return LaneRole::kRuntime;
        case Activity::kSynchronization:
        case Activity::kCudaEvent:
            return LaneRole::kSync;
        default:
            return LaneRole::kHost;
    }
}

const char* suffixOf(Activity activity) {
    switch (activity) {
        case Activity::kKernel:
            return "";
        case Activity::kMemcpy:
            return ": copies";
        case Activity::kMemset:
            return ": sets";
        case Activity::kGraphTrace:
            return ": graphs";
        case Activity::kRuntime:
            return ": CUDA calls";
        case Activity::kSynchronization:
            return ": waits";
        case Activity::kCudaEvent:
            return ": events";
        case Activity::kOverhead:
            return ": CUDA overhead";
        case Activity::kProfilerOverhead:
            return ": profiler overhead";
        case Activity::kGraphEvent:
            return ": graph calls";
        case Activity::kGraphNodeEvent:
            return ": graph node calls";
        case Activity::kOsRuntime:
            return ": operating system";
    }
    return "";
}

std::string_view nvtxCategory(std::int64_t type) {
    if (type == nvtx::kMark) return kNvtxMarkCategory;
    return type == nvtx::kStartEnd ? kNvtxRangeCategory : kNvtxCategory;
}

const char* nvtxSuffix(std::int64_t type) {
    if (type == nvtx::kMark) return ", marks";
    return type == nvtx::kStartEnd ? ", ranges" : "";
}

std::string pairsJson(const std::map<std::int64_t, std::string>& names) {
    std::string json = "[";
    for (const auto& [number, name] : names) {
        json.append(json.size() > 1 ? ",[" : "[").append(std::to_string(number));
        json.append(",").append(jsonString(name)).append("]");
    }
    return json + "]";
}

}  // namespace

const Lanes::Lane* Lanes::known(const Key& key) {
    // Neighbouring rows mostly lie on few lanes.
    Recent& recent = m_recent[static_cast<std::size_t>(key.a ^ key.c) % m_recent.size()];
    if (recent.lane != nullptr && recent.key == key) return recent.lane;
    const auto at = m_lanes.find(key);
    if (at == m_lanes.end()) return nullptr;
    recent = {key, &at->second};
    return recent.lane;
}

LaneId Lanes::find(const Key& key, LaneRole role, const std::function<std::string()>& name,
                   const std::string& process, const std::string& thread) {
    const LaneSource laneKey{
        std::string(key.category),
        std::to_string(key.a) + ' ' + std::to_string(key.b) + ' ' + std::to_string(key.c)};
    const LaneId id = m_builder->lane(key.rank, laneKey, role, name());
    m_lanes.emplace(key, Lane{id, process, thread});
    ++m_count[key.rank];
    return id;
}

LaneId Lanes::stream(const ProcessRanks::Entry& owner, Activity activity, bool collective,
                     std::int64_t device, std::int64_t context, std::int64_t stream) {
    const std::string_view category = collective ? kCollectiveCategory : specOf(activity).category;
    Key key{owner.rank, category, device, context, stream};
    if (const Lane* lane = known(key)) return lane->id;
    if (m_count[owner.rank] >= kMostLanes) {
        key = {owner.rank, category, device, kOtherThreads, kOtherThreads};
        if (const Lane* lane = known(key)) return lane->id;
    }
    const auto name = [&] {
        const auto first = m_contexts.try_emplace({owner.rank, device}, context).first->second;
        std::string text("GPU ");
        text.append(std::to_string(device)).append(" stream ").append(std::to_string(stream));
        if (first != context) text.append(", context ").append(std::to_string(context));
        return text.append(collective ? ": NCCL" : suffixOf(activity));
    };
    return find(key, collective ? LaneRole::kCommunication : roleOf(activity), name,
                std::to_string(device), std::to_string(stream));
}

std::string Lanes::threadName(const ProcessRanks::Entry& owner, std::int64_t thread) const {
    if (thread == kOtherThreads) return "other threads";
    std::string name("thread ");
    name.append(std::to_string(tidOf(thread)));
    if (const auto at = m_survey->threads.find(thread);
        at != m_survey->threads.end() && !at->second.empty())
        name += " (" + at->second + ")";
    const std::int64_t process = processOf(thread);
    if (owner.process != ProcessRanks::kUnknownProcess && process != owner.process)
        name.insert(0, "process " + std::to_string(pidOf(process)) + " ");
    return name;
}

/// The thread, or all other threads when the rank has as many lanes as it may.
std::int64_t Lanes::shared(const Key& key, std::int64_t thread) const {
    const auto count = m_count.find(key.rank);
    return count != m_count.end() && count->second >= kMostLanes ? kOtherThreads : thread;
}

LaneId Lanes::thread(const ProcessRanks::Entry& owner, Activity activity, std::int64_t thread) {
    Key key{owner.rank, specOf(activity).category, thread, 0, 0};
    if (const Lane* lane = known(key)) return lane->id;
    key.a = shared(key, thread);
    if (const Lane* lane = known(key)) return lane->id;
    return find(
        key, roleOf(activity), [&] { return threadName(owner, key.a) + suffixOf(activity); },
        std::to_string(pidOf(key.a)), std::to_string(tidOf(key.a)));
}

LaneId Lanes::nvtx(const ProcessRanks::Entry& owner, std::int64_t thread, std::int64_t domain,
                   std::int64_t type) {
    Key key{owner.rank, nvtxCategory(type), thread, domain, 0};
    if (const Lane* lane = known(key)) return lane->id;
    key.a = shared(key, thread);
    if (key.a == kOtherThreads) key.b = 0;
    if (const Lane* lane = known(key)) return lane->id;
    const auto name = [&] {
        std::string text = threadName(owner, key.a) + ": NVTX";
        const auto at = m_survey->domains.find({processOf(thread), key.b});
        if (at != m_survey->domains.end())
            text.append(" ").append(at->second);
        else if (key.b != 0)
            text.append(" domain ").append(std::to_string(key.b));
        return text + nvtxSuffix(type);
    };
    return find(key, LaneRole::kRange, name, std::to_string(pidOf(key.a)),
                std::to_string(tidOf(key.a)));
}

LaneId Lanes::counter(RankId rank, const std::string& name, const std::string& unit) {
    const auto key = std::pair(rank, name);
    if (const auto at = m_counters.find(key); at != m_counters.end()) return at->second;
    const LaneId id = m_builder->lane(rank, {"counter", name}, LaneRole::kCounter, name, unit);
    m_counters.emplace(key, id);
    return id;
}

std::string Lanes::toJson(RankId rank) const {
    std::string json = "[";
    for (const auto& [key, lane] : m_lanes) {
        if (key.rank != rank) continue;
        if (json.size() > 1) json += ',';
        json.append("[").append(std::to_string(lane.id.value));
        for (const std::string_view part :
             {std::string_view(lane.process), std::string_view(lane.thread), key.category})
            json.append(",").append(jsonString(part));
        json += ']';
    }
    return json + "]";
}

std::string Lanes::domainsJson(const ProcessRanks::Entry& owner) const {
    std::map<std::int64_t, std::string> used;
    for (const auto& [key, lane] : m_lanes) {
        if (key.rank != owner.rank || !key.category.starts_with(kNvtxCategory)) continue;
        const auto name = m_survey->domains.find({processOf(key.a), key.b});
        if (name != m_survey->domains.end()) used[key.b] = name->second;
    }
    return pairsJson(used);
}

std::string Lanes::threadsJson(const ProcessRanks::Entry& owner) const {
    std::map<std::int64_t, std::string> used;
    for (const auto& [key, lane] : m_lanes) {
        const bool ofThread =
            key.category.starts_with(kNvtxCategory) ||
            (specOfCategory(key.category) != nullptr && !specOfCategory(key.category)->ofProcess);
        const auto name = m_survey->threads.find(key.a);
        if (key.rank == owner.rank && ofThread && name != m_survey->threads.end())
            used[key.a] = name->second;
    }
    return pairsJson(used);
}

}  // namespace shardscope::interchange::nsys

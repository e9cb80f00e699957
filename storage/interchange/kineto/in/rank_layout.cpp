#include "storage/interchange/kineto/in/rank_layout.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/process_ranks.h"
#include "storage/model/recording.h"

#include <algorithm>
#include <limits>

namespace shardscope::interchange::kineto {
namespace {

/// Devices are ordered by their numbers; those without one by when they were first used.
std::int64_t orderOf(std::string_view device, const DeviceRows& rows, std::int64_t used) {
    constexpr std::int64_t kBehind = std::int64_t{1} << 32;
    if (const auto number = rows.numberOf(device)) return *number;
    const auto number = parseInteger(device);
    return number && *number >= 0 && *number < kBehind ? *number : kBehind + used;
}

std::uint64_t correlationOf(const Event& event) {
    std::string_view value = valueOf(event.members, "correlation");
    if (value.empty()) value = valueOf(event.members, "correlation_id");
    if (value.empty()) value = valueOf(event.members, "correlation id");
    const auto number = parseInteger(bare(value));
    return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

}  // namespace

std::int64_t LayoutSurvey::Names::of(std::string_view text) {
    if (last >= 0 && text == lastText) return last;
    auto at = numbers.find(text);
    if (at == numbers.end()) {
        if (numbers.size() >= kMostNames) return 0;
        const auto number = static_cast<std::int64_t>(numbers.size());
        at = numbers.emplace(std::string(text), number).first;
    }
    lastText = text;
    return last = at->second;
}

Category categoryIn(const Event& event, const DeviceRows& rows) {
    const std::string_view phase = bare(event.phase);
    if (phase == "b" || phase == "S") return kAsync;
    if (phase != "X" && phase != "B") return {};
    if (bare(event.category).empty() && !rows.empty())
        if (const auto category = rows.categoryOf(event)) return *category;
    return categoryOf(bare(event.category));
}

bool isMemory(const Event& event) {
    return bare(event.name) == "[memory]";
}

namespace {

/// "gpu:0" of Paddle's "Place(gpu:0)"; empty where there is none.
std::string_view paddlePlace(const Event& event) {
    constexpr std::string_view kBefore = "Place(";
    std::string_view place = bare(valueOf(event.members, "place"));
    if (!place.starts_with(kBefore) || !place.ends_with(')')) return {};
    place.remove_prefix(kBefore.size());
    place.remove_suffix(1);
    return place;
}

}  // namespace

std::int64_t memoryDeviceType(const Event& event) {
    const std::string_view type = bare(valueOf(event.members, "Device Type"));
    if (!type.empty()) return parseInteger(type).value_or(kHostDeviceType);
    const std::string_view place = paddlePlace(event);
    const std::string_view kind = place.substr(0, place.find(':'));
    if (kind.size() == place.size()) return kHostDeviceType;  // "cpu", "gpu_pinned"
    return deviceTypeOf(kind == "gpu" ? "cuda" : kind);
}
std::string_view memoryDevice(const Event& event) {
    std::string_view device = bare(valueOf(event.members, "Device Id"));
    if (const auto place = paddlePlace(event); device.empty() && place.find(':') < place.size())
        device = place.substr(place.find(':') + 1);
    return device.empty() ? std::string_view("0") : device;
}

void LayoutSurvey::add(const Event& event, const Category& category) {
    const std::string_view phase = bare(event.phase);
    if (phase == "X" || phase == "B")
        addSpan(event, category);
    else if (phase == "i" && isMemory(event) && memoryDeviceType(event) != kHostDeviceType)
        addMemory(event);
}

void LayoutSurvey::addSpan(const Event& event, const Category& category) {
    const bool call = category.role == LaneRole::kRuntime;
    const bool work = category.device && (category.kernel || category.role == LaneRole::kCopy);
    if (!call && !work) return;
    const bool sampled = (call ? m_calls.size() : m_work.size()) < kMostSampled;
    const auto time = sampled ? parseMicroseconds(bare(event.time)) : std::nullopt;
    const std::int64_t begin = time ? time->value : 0;
    if (call) {
        const std::int64_t process = m_processes.of(bare(event.process));
        m_severalProcesses |= m_lastProcess >= 0 && process != m_lastProcess;
        m_lastProcess = process;
        if (sampled) m_calls.push_back({correlationOf(event), process, begin});
        return;
    }
    const std::int64_t device = m_devices.of(bare(event.process));
    Device& used = m_used[device];
    ++(category.kernel ? used.kernels : used.others);
    if (sampled) m_work.push_back({correlationOf(event), device, begin});
}

void LayoutSurvey::addMemory(const Event& event) {
    Device& used = m_used[m_devices.of(memoryDevice(event))];
    if (used.memoryOf < 0) used.memoryOf = m_processes.of(bare(event.process));
}

std::map<std::int64_t, std::int64_t> LayoutSurvey::owners() const {
    std::map<std::int64_t, std::int64_t> owners;
    for (const auto& [device, used] : m_used)
        owners[device] = std::max<std::int64_t>(used.memoryOf, 0);
    if (!m_severalProcesses) return owners;
    std::vector<Call> calls = m_calls;
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
        return std::pair(a.correlation, a.begin) < std::pair(b.correlation, b.begin);
    });
    std::map<std::int64_t, std::map<std::int64_t, std::uint64_t>> votes;
    for (const Work& work : m_work) {
        // The last call of that number before it; several processes count from 1 each.
        const auto after =
            std::upper_bound(calls.begin(), calls.end(), work, [](const Work& w, const Call& call) {
                return std::pair(w.correlation, w.begin) < std::pair(call.correlation, call.begin);
            });
        if (work.correlation == 0 || after == calls.begin()) continue;
        const Call& call = *std::prev(after);
        if (call.correlation == work.correlation) ++votes[work.device][call.process];
    }
    for (const auto& [device, processes] : votes)
        owners[device] =
            std::max_element(processes.begin(), processes.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            })->first;
    return owners;
}

RankLayout LayoutSurvey::settle(DeviceRows rows, bool statesRank, std::int64_t worldSize) const {
    RankLayout layout;
    layout.statesRank = statesRank;
    layout.worldSize = worldSize;
    std::map<std::int64_t, std::string> names;
    for (const auto& [name, number] : m_devices.numbers) names[number] = name;
    // What has neither kernels nor memory is a stray context of the process that has.
    ProcessRanks ranks;
    std::map<std::int64_t, std::int64_t> deviceAt;  ///< by its order
    const auto owned = owners();
    for (const auto& [device, used] : m_used) {
        std::int64_t order = orderOf(names[device], rows, device);
        // Two rows of one number, as of two hosts.
        if (!deviceAt.emplace(order, device).second)
            deviceAt[order = (std::int64_t{1} << 33) + device] = device;
        ranks.addDevice(owned.at(device), order, used.kernels > 0 || used.memoryOf >= 0);
    }
    layout.rows = std::move(rows);
    if (m_used.empty() || !ranks.settle({0}, "the trace")) return layout;

    std::vector<ProcessRanks::Entry> entries = ranks.entries();
    const auto kernels = [&](const ProcessRanks::Entry& entry) {
        return m_used.at(deviceAt.at(*entry.device)).kernels;
    };
    if (statesRank) {
        const auto most =
            std::max_element(entries.begin(), entries.end(),
                             [&](const auto& a, const auto& b) { return kernels(a) < kernels(b); });
        std::rotate(entries.begin(), most, most + 1);
        const auto behind = static_cast<std::int64_t>(entries.size()) * worldSize;
        if (worldSize == 0 || behind > kMostRanks) entries.resize(1);
    }
    layout.ranks.assign(entries.size(), {});
    std::map<std::int64_t, std::uint32_t> firstOf;
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> placeOf;
    for (std::uint32_t place = 0; place < entries.size(); ++place) {
        const auto& [rank, process, device] = entries[place];
        const std::uint32_t first = firstOf.try_emplace(process, place).first->second;
        layout.ranks[place] = {names[deviceAt.at(*device)], first};
        placeOf[{process, deviceAt.at(*device)}] = place;
    }
    for (const auto& [device, process] : owned) {
        const auto at = placeOf.find({process, device});
        const auto first = firstOf.find(process);
        layout.ofDevice[names[device]] = at != placeOf.end()      ? at->second
                                         : first != firstOf.end() ? first->second
                                                                  : 0;
    }
    for (const auto& [name, number] : m_processes.numbers)
        if (const auto first = firstOf.find(number); first != firstOf.end())
            layout.ofHost[name] = first->second;
    return layout;
}

}  // namespace shardscope::interchange::kineto

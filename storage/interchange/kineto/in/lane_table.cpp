#include "storage/interchange/kineto/in/lane_table.h"

#include "storage/interchange/json_text.h"

namespace shardscope::interchange::kineto {
namespace {

std::string keyOf(std::string_view thread, const Category& category) {
    std::string key(thread);
    key += '\n';
    key += category.name;
    if (category.role == LaneRole::kCommunication) key += "\nc";
    // Rows that a name makes a device's have one category for all that they do.
    if (category.device && category.name.empty()) key += toWord(category.role);
    return key;
}

/// As it is read: rows are known by what stands between the quotes, escapes and all.
std::string shown(const std::string& text) {
    return text.find('\\') == std::string::npos ? text : textOf("\"" + text + "\"");
}

bool isInstant(std::string_view category) {
    return category == "instant" || category.ends_with(", instant");
}

std::string trimmedRight(std::string text) {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

struct Known {
    std::string_view text;
    Category category;
};

constexpr Category kOperator{"cpu_op", LaneRole::kHost, false, false};
constexpr Category kKernel{"kernel", LaneRole::kCompute, true, true};
constexpr Category kCopy{"gpu_memcpy", LaneRole::kCopy, true, false};
constexpr Category kSet{"gpu_memset", LaneRole::kCopy, true, false};
constexpr Category kRuntime{"cuda_runtime", LaneRole::kRuntime, false, false};

constexpr Category runtime(std::string_view name) {
    return {name, LaneRole::kRuntime, false, false};
}

/// kineto libkineto/include/ActivityType.h, the frequent ones first; then the names of 2021, which
/// are Paddle's too but for its runtime.
constexpr Known kKnown[] = {
    {"cpu_op", kOperator},
    {"cuda_runtime", kRuntime},
    {"kernel", kKernel},
    {"python_function", {"python_function", LaneRole::kHost, false, false}},
    {"gpu_memcpy", kCopy},
    {"gpu_memset", kSet},
    {"cuda_driver", runtime("cuda_driver")},
    {"user_annotation", {"user_annotation", LaneRole::kRange, false, false}},
    {"gpu_user_annotation", {"gpu_user_annotation", LaneRole::kRange, true, false}},
    {"cuda_sync", {"cuda_sync", LaneRole::kSync, true, false}},
    {"xpu_sync", {"xpu_sync", LaneRole::kSync, true, false}},
    {"cuda_event", {"cuda_event", LaneRole::kSync, true, false}},
    {"overhead", {"overhead", LaneRole::kHost, false, false}},
    {"Trace", {"Trace", LaneRole::kRange, false, false}},
    {"mtia_ccp_events", {"mtia_ccp_events", LaneRole::kCompute, true, true}},
    {"hpu_op", {"hpu_op", LaneRole::kCompute, true, true}},
    {"collective_comm", {"collective_comm", LaneRole::kCommunication, true, true}},
    {"cuda_profiler_range", {"cuda_profiler_range", LaneRole::kRange, true, false}},
    {"xpu_scope_profiler", {"xpu_scope_profiler", LaneRole::kRange, true, false}},
    {"mtia_insight", {"mtia_insight", LaneRole::kRange, true, false}},
    {"xpu_runtime", runtime("xpu_runtime")},
    {"xpu_driver", runtime("xpu_driver")},
    {"mtia_runtime", runtime("mtia_runtime")},
    {"glow_runtime", runtime("glow_runtime")},
    {"privateuse1_runtime", runtime("privateuse1_runtime")},
    {"privateuse1_driver", runtime("privateuse1_driver")},
    {"Operator", kOperator},
    {"Kernel", kKernel},
    {"Memcpy", kCopy},
    {"Memset", kSet},
    {"Runtime", kRuntime},
    {"CudaRuntime", kRuntime},
};

}  // namespace

LaneId LaneTable::lane(std::string_view process, std::string_view thread,
                       const Category& category) {
    return find(process, thread, category, true);
}

LaneId LaneTable::laneIfUsed(std::string_view process, std::string_view thread,
                             const Category& category) {
    return find(process, thread, category, false);
}

LaneId LaneTable::find(std::string_view process, std::string_view thread, const Category& category,
                       bool needed) {
    // Neighbouring events mostly lie on few lanes.
    const std::size_t slot = (category.name.size() * 7 + thread.size() + process.size() +
                              (thread.empty() ? 0u : static_cast<unsigned char>(thread.back())) +
                              static_cast<std::size_t>(category.role)) %
                             m_recent.size();
    Recent& recent = m_recent[slot];
    if (recent.lane.value != 0 && recent.thread == thread && recent.process == process &&
        recent.category == category.name && recent.role == category.role)
        return recent.lane;
    const LaneSource key{std::string(process), keyOf(thread, category)};
    auto at = m_entries.find(key);
    if (at == m_entries.end()) {
        Entry entry{{},
                    std::string(process),
                    std::string(thread),
                    std::string(category.name),
                    category.role,
                    category.device};
        // Not rows of Kineto itself ("Spans", "", -1), nor what may lie on a device's.
        if (needed && !entry.device && entry.category != "Trace" && !entry.process.empty() &&
            entry.process != "-1" && !isInstant(entry.category))
            m_hosts.insert(entry.process);
        entry.lane = needed ? m_builder->lane(m_rank, key, category.role, nameOf(entry))
                            : m_builder->laneIfUsed(m_rank, key, category.role, nameOf(entry));
        at = m_entries.emplace(key, std::move(entry)).first;
    }
    recent = {at->second.process, at->second.thread, at->second.category, category.role,
              at->second.lane};
    return recent.lane;
}

std::pair<std::uint32_t, LaneId> LaneTable::flows(std::string_view process,
                                                  std::string_view thread) {
    const LaneSource key{std::string(process), std::string(thread)};
    if (const auto at = m_flows.find(key); at != m_flows.end()) return at->second;
    const LaneId lane = laneIfUsed(process, thread, {"flow", LaneRole::kRange, false, false});
    const std::uint32_t number = m_builder->newThread(m_rank);
    return m_flows.emplace(key, std::pair{number, lane}).first->second;
}

LaneId LaneTable::counter(std::string_view process, std::string_view name, std::string_view series,
                          std::string_view id) {
    std::string key(process);
    key.append("\n").append(name).append("\n").append(series).append("\n").append(id);
    if (const auto at = m_counters.find(key); at != m_counters.end()) return at->second.lane;
    std::string title(name);
    if (!id.empty()) title.append(" [").append(id).append("]");
    if (!series.empty() && series != name) title.append(": ").append(series);
    const LaneId lane = m_builder->lane(m_rank, {"counter", key}, LaneRole::kCounter, title);
    m_counters.emplace(std::move(key), Counter{lane, std::string(process), std::string(name),
                                               std::string(series), std::string(id)});
    return lane;
}

void LaneTable::nameProcess(std::string_view process, const std::string& name) {
    m_processNames[std::string(process)] = trimmedRight(name);
}

void LaneTable::nameThread(std::string_view process, std::string_view thread,
                           const std::string& name) {
    m_threadNames[{std::string(process), std::string(thread)}] = trimmedRight(name);
}

std::string LaneTable::nameOf(const Entry& entry) const {
    const auto thread = m_threadNames.find({entry.process, entry.thread});
    std::string name;
    if (entry.device) {
        const auto named = m_processNames.find(entry.process);
        if (entry.category.empty() && named != m_processNames.end())
            name.append(named->second).append(" ");
        else
            name.append("GPU ").append(entry.process).append(" ");
        const bool says = entry.thread.starts_with("stream ");
        name += thread != m_threadNames.end() ? thread->second
                : says                        ? entry.thread
                                              : "stream " + entry.thread;
        if (entry.role == LaneRole::kCompute) return name;
        name += ": ";
        if (entry.role == LaneRole::kCommunication) return name += "collectives";
        return name += entry.category.empty() ? toWord(entry.role) : entry.category;
    }
    name = entry.category.ends_with(kAsyncEnding) ? "asynchronous"
           : thread == m_threadNames.end()        ? "thread " + shown(entry.thread)
                                                  : thread->second;
    if (m_hosts.size() > 1) name.append(" (").append(titleOf(entry.process)).append(")");
    if (!entry.category.empty()) name.append(": ").append(entry.category);
    return name;
}

/// "python 700"; of a process without a name "process 700".
std::string LaneTable::titleOf(const std::string& process) const {
    const auto named = m_processNames.find(process);
    if (named == m_processNames.end() || named->second.empty()) return "process " + process;
    const bool says = named->second.find(process) != std::string::npos;
    return says ? named->second : named->second + " " + process;
}

void LaneTable::finish() {
    for (const auto& [key, entry] : m_entries) {
        m_builder->lane(m_rank, key, entry.role, nameOf(entry));
        const auto flows = m_flows.find({entry.process, entry.thread});
        if (flows != m_flows.end()) m_builder->joinThread(m_rank, flows->second.first, entry.lane);
    }
}

std::string LaneTable::toJson() const {
    std::string json = "[";
    for (const auto& [key, entry] : m_entries) {
        if (json.size() > 1) json += ',';
        json.append("[").append(std::to_string(entry.lane.value));
        for (const std::string& part : {entry.process, entry.thread, entry.category})
            json.append(",").append(jsonString(part));
        json += "]";
    }
    return json + "]";
}

std::string LaneTable::countersToJson() const {
    std::string json = "[";
    for (const auto& [key, counter] : m_counters) {
        if (json.size() > 1) json += ',';
        json.append("[").append(std::to_string(counter.lane.value));
        for (const std::string& part : {counter.process, counter.name, counter.series})
            json.append(",").append(jsonString(part));
        if (!counter.id.empty()) json.append(",").append(jsonString(counter.id));
        json += "]";
    }
    return json + "]";
}

Category categoryOf(std::string_view text) {
    for (const Known& known : kKnown)
        if (known.text == text) return known.category;
    return {text, LaneRole::kHost, false, false};
}

}  // namespace shardscope::interchange::kineto

#include "storage/interchange/kineto/out/kineto_trace.h"

#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"

#include <algorithm>

namespace shardscope::interchange::kineto_out {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

void line(std::string& text, std::string_view key, std::string_view json) {
    text.append("  ");
    appendString(text, key);
    text.append(": ").append(json).append(",\n");
}

std::string jsonString(std::string_view value) {
    std::string text;
    appendString(text, value);
    return text;
}

/// HTA finds the rank by a pattern that wants a blank behind the colon.
std::string withBlanks(const std::string& object) {
    std::vector<Member> members;
    TextFlags flags;
    const char* end = object.data() + object.size();
    if (readMembers(object.data(), end, members, flags) != end) return object;
    std::string text = "{";
    for (const Member& member : members)
        text.append(text.size() == 1 ? "\"" : ", \"")
            .append(member.key)
            .append("\": ")
            .append(member.value);
    return text + "}";
}

bool namesRank(const std::string& object) {
    std::vector<Member> members;
    TextFlags flags;
    const char* end = object.data() + object.size();
    return readMembers(object.data(), end, members, flags) == end &&
           !valueOf(members, "rank").empty();
}

}  // namespace

KinetoTrace::KinetoTrace(ExportScope& scope, RankId rank)
    : m_scope(&scope), m_rank(rank), m_imported(ImportedTrace::of(scope.summary().run, rank)) {
    const RunFacts& run = scope.summary().run;
    if (m_imported) {
        m_baseNs = m_imported->baseNs;
        m_clockNs = m_imported->zeroNs.value_or(run.startedUnixNs) - m_baseNs;
        return;
    }
    // Times below 0 would be clamped by Kineto's readers.
    const std::int64_t first = std::min<std::int64_t>(0, scope.summary().bounds.begin.ns);
    if (run.startedUnixNs > kSecondNs - first)
        m_baseNs = (run.startedUnixNs + first) / kSecondNs * kSecondNs;
    m_clockNs = m_baseNs > 0 ? run.startedUnixNs - m_baseNs : -first;
}

std::string KinetoTrace::metadata() const {
    return m_imported ? importedMetadata() : recordedMetadata();
}

std::string KinetoTrace::importedMetadata() const {
    const std::string rank = std::to_string(m_rank.value);
    std::string text;
    bool ranked = false;
    for (const auto& [key, value] : m_imported->metadata) {
        std::string json = value;
        if (key == "distributedInfo" && value.starts_with('{')) {
            json = withBlanks(value);
            if (!namesRank(value))
                json = "{\"rank\": " + rank + (value == "{}" ? "}" : ", " + json.substr(1));
            ranked = true;
        }
        // The key stands as it stood in the trace, quotes and escapes and all.
        text.append("  \"").append(key).append("\": ").append(json).append(",\n");
    }
    if (!ranked && m_scope->summary().ranks.size() > 1)
        line(text, "distributedInfo", "{\"rank\": " + rank + "}");
    return text;
}

std::string KinetoTrace::recordedMetadata() const {
    const RunFacts& run = m_scope->summary().run;
    const std::string world = std::to_string(run.worldSize);
    std::string devices, host;
    for (const DeviceFacts& device : m_scope->summary().devices)
        if (device.rank == m_rank)
            devices = "{\"id\": " + std::to_string(device.sharedBy > 1 ? 0 : m_rank.value) +
                      ", \"name\": " + jsonString(device.name) +
                      ", \"totalGlobalMem\": " + std::to_string(device.memory.count) + "}";
    for (const RankFacts& rank : m_scope->summary().ranks)
        for (const HostFacts& facts : m_scope->summary().hosts)
            if (rank.rank == m_rank && facts.host == rank.host) host = facts.name;
    std::string ranks;
    for (std::int32_t rank = 0; rank < run.worldSize; ++rank)
        ranks.append(rank == 0 ? "" : ", ").append(std::to_string(rank));
    std::string text;
    line(text, "schemaVersion", "1");
    line(text, "deviceProperties", "[" + devices + "]");
    line(text, "distributedInfo",
         "{\"backend\": " + jsonString(devices.empty() ? "shared memory" : "nccl") +
             ", \"rank\": " + std::to_string(m_rank.value) + ", \"world_size\": " + world +
             ", \"pg_count\": 1, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", "
             "\"pg_size\": " +
             world + ", \"ranks\": [" + ranks + "]}]}");
    if (m_baseNs > 0) line(text, "baseTimeNanoseconds", std::to_string(m_baseNs));
    line(text, "displayTimeUnit", "\"ms\"");
    if (!host.empty()) line(text, "host_name", jsonString(host));
    line(text, "product", jsonString(run.product));
    return text;
}

Result<void> KinetoTrace::walk(TraceEventSink& sink) const {
    const WalkSetting setting{m_rank, m_clockNs};
    return m_imported ? walkImported(*m_scope, setting, *m_imported, sink)
                      : walkRecorded(*m_scope, setting, sink);
}

}  // namespace shardscope::interchange::kineto_out

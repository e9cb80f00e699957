#include "storage/interchange/kineto/out/kineto_trace.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

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

std::vector<Member> membersOf(std::string_view object) {
    std::vector<Member> members;
    TextFlags flags;
    const char* end = object.data() + object.size();
    if (readMembers(object.data(), end, members, flags) != end) members.clear();
    return members;
}

std::vector<std::string_view> elementsOf(std::string_view array) {
    std::vector<std::string_view> elements;
    if (!array.starts_with('[')) return elements;
    const char* end = array.data() + array.size();
    TextFlags flags;
    for (const char* at = array.data() + 1; at < end && *at != ']';) {
        const char* after = skipValue(at, end, flags);
        if (after == nullptr) return elements;
        elements.emplace_back(at, static_cast<std::size_t>(after - at));
        at = after;
        if (at < end && *at == ',') ++at;
    }
    return elements;
}

/// [lane, text, text, text], and one more that few have
struct LaneTexts {
    LaneId lane;
    std::string texts[4];
};
std::vector<LaneTexts> tableOf(std::string_view array) {
    std::vector<LaneTexts> rows;
    for (const std::string_view element : elementsOf(array)) {
        const auto cells = elementsOf(element);
        const bool sound = cells.size() == 4 || cells.size() == 5;
        const auto lane = sound ? parseInteger(cells[0]) : std::nullopt;
        if (!lane || *lane < 0 || *lane > std::numeric_limits<std::uint32_t>::max()) continue;
        LaneTexts row{{static_cast<std::uint32_t>(*lane)}, {}};
        for (std::size_t i = 0; i + 1 < cells.size(); ++i) row.texts[i] = textOf(cells[i + 1]);
        rows.push_back(std::move(row));
    }
    return rows;
}

/// The tables hold processes, threads and categories as they stood between their quotes.
std::string resolved(const std::string& text) {
    std::string quoted;
    (quoted += '"').append(text);
    quoted += '"';
    return nlohmann::json::accept(quoted) ? textOf(quoted) : text;
}

ImportedTrace traceOf(const std::vector<Member>& members) {
    ImportedTrace trace;
    for (const Member& member : membersOf(valueOf(members, "metadata"))) {
        trace.metadata.emplace_back(member.key, member.value);
        if (member.key == "baseTimeNanoseconds")
            trace.baseNs = parseInteger(member.value).value_or(0);
    }
    if (const auto first = parseInteger(valueOf(members, "part_of")); first && *first >= 0)
        trace.partOf = RankId{static_cast<std::uint32_t>(*first)};
    trace.zeroNs = parseInteger(valueOf(members, "zero_ns"));
    trace.storesFlows = valueOf(members, "flows") == "\"events\"";
    for (const LaneTexts& row : tableOf(valueOf(members, "lanes")))
        trace.lanes[row.lane] = {{idValue(resolved(row.texts[0])), idValue(resolved(row.texts[1]))},
                                 resolved(row.texts[2])};
    for (const LaneTexts& row : tableOf(valueOf(members, "counters")))
        // The thread of a counter is not kept; nothing goes by it.
        trace.counters[row.lane] = {{idValue(resolved(row.texts[0])), "0"},
                                    row.texts[0],
                                    row.texts[1],
                                    row.texts[2],
                                    row.texts[3]};
    for (const std::string_view event : elementsOf(valueOf(members, "metadata_events")))
        trace.metadataEvents.emplace_back(event);
    return trace;
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

std::map<RankId, std::vector<RankId>> ranksOfFiles(const RunFacts& run,
                                                   const std::vector<RankId>& ranks) {
    std::map<RankId, std::vector<RankId>> files;
    for (const RankId rank : ranks) {
        const auto trace = ImportedTrace::of(run, rank);
        const RankId first = trace && trace->partOf ? *trace->partOf : rank;
        // A part by itself is a file of its own.
        const bool whole = std::find(ranks.begin(), ranks.end(), first) != ranks.end();
        files[whole ? first : rank].push_back(rank);
    }
    return files;
}

std::optional<ImportedTrace> ImportedTrace::of(const RunFacts& run, RankId rank) {
    if (!nlohmann::json::accept(run.configJson)) return std::nullopt;
    std::optional<ImportedTrace> found;
    for (const std::string_view config : elementsOf(valueOf(membersOf(run.configJson), "traces"))) {
        const auto members = membersOf(config);
        if (valueOf(members, "imported") != "\"kineto\"" ||
            parseInteger(valueOf(members, "rank")) != std::int64_t{rank.value})
            continue;
        ImportedTrace trace = traceOf(members);
        if (!found) {
            found = std::move(trace);
            continue;
        }
        // Of several files of one process all rows, and what the first says of itself.
        found->lanes.merge(trace.lanes);
        found->counters.merge(trace.counters);
    }
    return found;
}

}  // namespace shardscope::interchange::kineto_out

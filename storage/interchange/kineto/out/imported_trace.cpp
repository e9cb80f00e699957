#include "storage/interchange/kineto/out/imported_trace.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace shardscope::interchange::kineto_out {
namespace {

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

/// [lane, text, text, text]
struct LaneTexts {
    LaneId lane;
    std::string texts[3];
};
std::vector<LaneTexts> tableOf(std::string_view array) {
    std::vector<LaneTexts> rows;
    for (const std::string_view element : elementsOf(array)) {
        const auto cells = elementsOf(element);
        const auto lane = cells.size() == 4 ? parseInteger(cells[0]) : std::nullopt;
        if (!lane || *lane < 0 || *lane > std::numeric_limits<std::uint32_t>::max()) continue;
        LaneTexts row{{static_cast<std::uint32_t>(*lane)}, {}};
        for (std::size_t i = 0; i < 3; ++i) row.texts[i] = textOf(cells[i + 1]);
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
    trace.zeroNs = parseInteger(valueOf(members, "zero_ns"));
    trace.storesFlows = valueOf(members, "flows") == "\"events\"";
    for (const LaneTexts& row : tableOf(valueOf(members, "lanes")))
        trace.lanes[row.lane] = {{idValue(resolved(row.texts[0])), idValue(resolved(row.texts[1]))},
                                 resolved(row.texts[2])};
    for (const LaneTexts& row : tableOf(valueOf(members, "counters")))
        // The thread of a counter is not kept; nothing goes by it.
        trace.counters[row.lane] = {
            {idValue(resolved(row.texts[0])), "0"}, row.texts[0], row.texts[1], row.texts[2]};
    for (const std::string_view event : elementsOf(valueOf(members, "metadata_events")))
        trace.metadataEvents.emplace_back(event);
    return trace;
}

}  // namespace

std::optional<ImportedTrace> ImportedTrace::of(const RunFacts& run, RankId rank) {
    if (!nlohmann::json::accept(run.configJson)) return std::nullopt;
    for (const std::string_view config : elementsOf(valueOf(membersOf(run.configJson), "traces"))) {
        const auto members = membersOf(config);
        if (valueOf(members, "imported") == "\"kineto\"" &&
            parseInteger(valueOf(members, "rank")) == std::int64_t{rank.value})
            return traceOf(members);
    }
    return std::nullopt;
}

}  // namespace shardscope::interchange::kineto_out

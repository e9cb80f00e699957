#include "storage/interchange/kineto/out/recorded_arguments.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/kineto/out/device_names.h"
#include "storage/model/argument_words.h"

namespace shardscope::interchange::kineto_out {

void RecordedArguments::begin(std::string_view object) {
    m_members.clear();
    m_keys.clear();
    m_own.clear();
    m_object.clear();
    if (object.empty()) return;
    m_object.append("{").append(m_check.members(object)).append("}");
    TextFlags flags;
    const char* end = m_object.data() + m_object.size();
    if (readMembers(m_object.data(), end, m_own, flags) != end) m_own.clear();
}

std::string RecordedArguments::own(std::string_view key) const {
    const std::string_view value = valueOf(m_own, key);
    return value.empty() ? std::string() : textOf(value);
}

std::optional<std::int64_t> RecordedArguments::ownInteger(std::string_view key) const {
    return parseInteger(valueOf(m_own, key));
}

bool RecordedArguments::key(std::string_view key) {
    for (const auto& [at, size] : m_keys)
        if (std::string_view(m_members).substr(at, size) == key) return false;
    m_members.append(m_members.empty() ? "\"" : ",\"");
    m_keys.emplace_back(m_members.size(), key.size());
    m_members.append(key).append("\":");
    return true;
}

void RecordedArguments::addOwn(bool device) {
    for (const Member& member : m_own) {
        if (member.key == "correlation") continue;  // the event's own
        const std::string_view name = device                   ? kinetoArgument(member.key)
                                      : member.key == "stream" ? "on stream"
                                      : member.key == "shapes" ? "Input Dims"
                                                               : member.key;
        if (key(name)) m_members.append(member.value);
    }
}

void RecordedArguments::addPlace(const SpanEvent& span) {
    if (span.step != kNoStep) add("step", std::int64_t{span.step.value});
    if (span.layer != kNoLayer) add("layer", layerTitle(span.layer));
    if (span.phase != Phase::kNone) add("phase", toWord(span.phase));
}

void RecordedArguments::add(std::string_view name, std::int64_t value) {
    if (key(name)) appendInteger(m_members, value);
}

void RecordedArguments::add(std::string_view name, std::string_view value) {
    if (key(name)) appendString(m_members, value);
}

void RecordedArguments::addNumber(std::string_view name, double value) {
    if (key(name)) appendNumber(m_members, value);
}

void addCollective(RecordedArguments& arguments, const CollectiveEvent& collective,
                   const GroupFacts& group) {
    const bool world = collective.group == 0;
    const std::int64_t all = collective.size.count / bytesOf(collective.dtype);
    const std::int64_t part = world && group.worldSize > 0 ? all / group.worldSize : all;
    const bool gathers = collective.operation == CollectiveOp::kAllGather;
    const bool scatters = collective.operation == CollectiveOp::kReduceScatter;
    arguments.add("Collective name", collectiveName(collective.operation));
    if (collective.dtype != DataType::kUnknown)
        arguments.add("dtype", scalarTypeName(collective.dtype));
    if (collective.size != kUnknownSize) {
        arguments.add("In msg nelems", gathers ? part : all);
        arguments.add("Out msg nelems", scatters ? part : all);
    }
    if (world) arguments.add("Group size", std::int64_t{group.worldSize});
    arguments.add("Process Group Name", std::to_string(collective.group));
    if (world) {
        constexpr std::int32_t kMostNamed = 64;  // Kineto cuts long lists as well
        std::string ranks = "[";
        for (std::int32_t rank = 0; rank < std::min(group.worldSize, kMostNamed); ++rank)
            ranks.append(rank == 0 ? "" : ", ").append(std::to_string(rank));
        arguments.add("Process Group Description", "default_pg");
        arguments.add("Process Group Ranks",
                      ranks + (group.worldSize > kMostNamed ? ", ...]" : "]"));
    }
    arguments.add("Rank", std::int64_t{group.rank});
    arguments.add("Seq", static_cast<std::int64_t>(collective.sequence));
    if (collective.cause != Cause::kNone) arguments.add("cause", toWord(collective.cause));
    if (collective.step != kNoStep) arguments.add("step", std::int64_t{collective.step.value});
    if (collective.layer != kNoLayer) arguments.add("layer", layerTitle(collective.layer));
}

}  // namespace shardscope::interchange::kineto_out

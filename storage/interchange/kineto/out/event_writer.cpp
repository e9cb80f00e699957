#include "storage/interchange/kineto/out/event_writer.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"

#include <vector>

namespace shardscope::interchange::kineto_out {
namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;

bool isFlow(char phase) {
    return phase == 's' || phase == 't' || phase == 'f';
}

}  // namespace

void EventWriter::begin(std::string_view metadata) {
    m_text.append("{\n").append(metadata).append("  \"traceEvents\": [");
}

void EventWriter::separate() {
    m_text += m_events++ == 0 ? "\n  " : ",\n  ";
}

void EventWriter::appendTime(std::int64_t nanoseconds) {
    if (m_whole)
        appendInteger(m_text, wholeMicroseconds(nanoseconds));
    else
        appendMicroseconds(m_text, nanoseconds);
}

void EventWriter::appendTimes(const TraceEvent& event) {
    m_text += ", \"ts\": ";
    appendTime(event.startNs);
    if (event.phase != 'X') return;
    m_text += ", \"dur\": ";
    if (m_whole)
        appendInteger(m_text, wholeMicroseconds(event.startNs + event.durationNs) -
                                  wholeMicroseconds(event.startNs));
    else
        appendMicroseconds(m_text, event.durationNs);
}

void EventWriter::add(const TraceEvent& event) {
    separate();
    m_text.append("{\"ph\": \"").append(1, event.phase).append("\"");
    if (isFlow(event.phase)) {
        m_text += ", \"id\": ";
        if (event.flowText.empty())
            appendInteger(m_text, event.flow);
        else
            appendString(m_text, event.flowText);
    }
    if (!event.category.empty() || event.phase == 'X') {
        m_text += ", \"cat\": ";
        appendString(m_text, event.category);
    }
    m_text += ", \"name\": ";
    appendString(m_text, event.name);
    m_text.append(", \"pid\": ").append(event.row->pid);
    m_text.append(", \"tid\": ").append(event.row->tid);
    if (event.phase != 'M') appendTimes(event);
    if (event.phase == 'f' && !event.bindsNext) m_text += ", \"bp\": \"e\"";
    if (event.phase == 'i') m_text.append(", \"s\": \"").append(1, event.scope).append("\"");
    if (!isFlow(event.phase) || !event.arguments.empty()) {
        m_text.append(", \"args\": {").append(event.arguments);
        if (event.correlation != 0) {
            m_text += event.arguments.empty() ? "\"correlation\":" : ",\"correlation\":";
            appendInteger(m_text, event.correlation);
        }
        m_text += "}";
    }
    m_text += "}";
    flushWhenLarge();
}

/// As it stands; only its time is made whole where all are.
void EventWriter::addText(std::string_view object) {
    separate();
    std::vector<Member> members;
    TextFlags flags;
    const auto time = [&]() -> std::string_view {
        const char* end = object.data() + object.size();
        if (!m_whole || readMembers(object.data(), end, members, flags) != end) return {};
        return valueOf(members, "ts");
    }();
    const auto parsed = parseMicroseconds(isString(time) ? time.substr(1, time.size() - 2) : time);
    if (parsed) {
        const auto at = static_cast<std::size_t>(time.data() - object.data());
        m_text.append(object.substr(0, at));
        appendTime(parsed->value);
        m_text.append(object.substr(at + time.size()));
    } else {
        m_text.append(object);
    }
    flushWhenLarge();
}

void EventWriter::flushWhenLarge() {
    if (m_text.size() < kBlock) return;
    m_output->write(m_text);
    m_text.clear();
}

void EventWriter::end() {
    m_text += "\n  ]\n}\n";
    m_output->write(m_text);
    m_text.clear();
}

}  // namespace shardscope::interchange::kineto_out

// Writes events of a Chrome trace as text, one a line, with the blanks HTA looks for.
#pragma once

#include "storage/interchange/kineto/out/text_output.h"
#include "storage/interchange/kineto/out/trace_events.h"

#include <string>

namespace shardscope::interchange::kineto_out {

class EventWriter : public TraceEventSink {
public:
    /// `wholeMicroseconds`: starts and ends are floored, so that what did not overlap does not.
    EventWriter(TextOutput& output, bool wholeMicroseconds)
        : m_output(&output), m_whole(wholeMicroseconds) {}

    /// All top-level members but the events, as JSON members.
    void begin(std::string_view metadata);
    void add(const TraceEvent& event) override;
    void addText(std::string_view object) override;
    void end();

    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    void separate();
    void appendTime(std::int64_t nanoseconds);
    void appendTimes(const TraceEvent& event);
    void flushWhenLarge();

    TextOutput* m_output;
    bool m_whole;
    std::uint64_t m_events = 0;
    std::string m_text;
};

}  // namespace shardscope::interchange::kineto_out

// Binds flow events to the spans of their threads, by the rules of Chrome's trace format: the
// innermost span under way, or the next one that begins.
//
// Works on one stretch of time after the other: its flows in order, and the spans that touch it.
// One thread.
#pragma once

#include "storage/model/events.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::interchange {

/// Spans of all lanes of one thread that touch a range.
using SpansOfThread = std::function<Result<std::vector<SpanEvent>>(TimeRange range)>;

class FlowBinder {
public:
    /// `end` is when the last span of all begins, or later.
    FlowBinder(SpansOfThread spans, Timestamp end) : m_spans(std::move(spans)), m_end(end) {}

    /// Sets lane, span, depth and step of each flow that binds. By time, none earlier than in the
    /// calls before.
    Result<void> bind(std::span<FlowEvent*> flows);

private:
    Result<void> bindStretch(std::span<FlowEvent*> flows);
    Result<void> bindNext(FlowEvent& flow);

    SpansOfThread m_spans;
    Timestamp m_end;
    /// The first span from m_nextFrom on; none: no span begins after it.
    std::optional<SpanEvent> m_next;
    std::optional<Timestamp> m_nextFrom;
};

}  // namespace shardscope::interchange

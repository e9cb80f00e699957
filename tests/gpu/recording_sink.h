// A DeviceSink that keeps what it is given.
#pragma once

#include "profiler/capture/device_sink.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace shardscope::capture {

class RecordingSink final : public DeviceSink {
public:
    Timestamp at(std::int64_t hostNs) const override { return {hostNs}; }
    StringId intern(std::string_view text) override {
        const std::scoped_lock lock(m_mutex);
        for (std::size_t i = 0; i < m_texts.size(); ++i)
            if (m_texts[i] == text) return {static_cast<std::uint32_t>(i)};
        m_texts.emplace_back(text);
        return {static_cast<std::uint32_t>(m_texts.size() - 1)};
    }
    void declareLane(LaneId, LaneRole, const std::string&, const std::string&) override {}
    void spans(const std::vector<SpanEvent>& spans) override {
        const std::scoped_lock lock(m_mutex);
        m_spans.insert(m_spans.end(), spans.begin(), spans.end());
    }
    void counters(const std::vector<CounterEvent>&) override {}
    void collectiveKernel(const CollectiveKernel&) override {}
    void diagnostic(const Diagnostic& diagnostic) override {
        const std::scoped_lock lock(m_mutex);
        m_diagnostics.push_back(diagnostic);
    }

    /// Spans whose name contains `part`.
    [[nodiscard]] std::vector<SpanEvent> named(std::string_view part) const {
        const std::scoped_lock lock(m_mutex);
        std::vector<SpanEvent> found;
        for (const SpanEvent& span : m_spans)
            if (m_texts.at(span.name.value).find(part) != std::string::npos) found.push_back(span);
        return found;
    }
    [[nodiscard]] std::vector<Diagnostic> diagnostics() const {
        const std::scoped_lock lock(m_mutex);
        return m_diagnostics;
    }

private:
    mutable std::mutex m_mutex;
    std::vector<std::string> m_texts{""};
    std::vector<SpanEvent> m_spans;
    std::vector<Diagnostic> m_diagnostics;
};

}  // namespace shardscope::capture

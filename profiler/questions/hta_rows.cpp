#include "profiler/questions/hta_rows.h"

#include "storage/interchange/json_text.h"
#include "storage/interchange/kineto/out/kineto_trace.h"

#include <charconv>
#include <optional>
#include <string>

namespace shardscope::questions {
namespace {

using interchange::Member;
using interchange::TextFlags;
using interchange::kineto_out::TraceEvent;

/// Takes rows from the events that would be written.
class RowCollector : public interchange::kineto_out::TraceEventSink {
public:
    explicit RowCollector(analysis::HtaTrace& trace) : m_trace(&trace) {}

    void add(const TraceEvent& event) override {
        if (event.phase != 'X' || event.category == "Trace") return;
        const std::int64_t stream = argument(event, "stream").value_or(-1);
        auto correlation = static_cast<std::int64_t>(event.correlation);
        if (correlation == 0) correlation = argument(event, "correlation").value_or(-1);
        const bool device = (stream >= 0 && correlation >= 0) || event.name == "Event Sync" ||
                            event.name == "Context Sync";
        if (!device) addHost(event, correlation);
        if (stream == -1) return;
        analysis::HtaRow row;
        row.startNs = event.startNs;
        row.endNs = event.startNs + event.durationNs;
        row.correlation = correlation;
        row.stream = stream;
        row.kind = analysis::htaKind(event.name);
        row.device = device;
        row.work = event.category == "kernel" || event.category == "gpu_memcpy" ||
                   event.category == "gpu_memset" || event.category == "mtia_ccp_events";
        m_trace->rows.push_back(row);
    }
    void addText(std::string_view) override {}  // flows and metadata
    [[nodiscard]] bool wantsSamples() const override { return false; }

private:
    void addHost(const TraceEvent& event, std::int64_t correlation) {
        if (correlation != -1) m_trace->launches.push_back({event.startNs, correlation});
        if (event.name.find("ProfilerStep") != std::string_view::npos)
            m_trace->steps.push_back(
                {std::string(event.name), event.startNs, event.startNs + event.durationNs});
    }

    /// An integer, or a text that is one; looks into the arguments only when they may have it.
    std::optional<std::int64_t> argument(const TraceEvent& event, std::string_view key) {
        m_object.clear();
        (m_object += '"').append(key);
        m_object += "\":";
        if (event.arguments.find(m_object) == std::string_view::npos) return std::nullopt;
        m_object.clear();
        (m_object += '{').append(event.arguments);
        m_object += '}';
        m_members.clear();
        TextFlags flags;
        const char* end = m_object.data() + m_object.size();
        if (interchange::readMembers(m_object.data(), end, m_members, flags) != end)
            return std::nullopt;
        std::string_view value = interchange::valueOf(m_members, key);
        if (interchange::isString(value)) value = value.substr(1, value.size() - 2);
        std::int64_t number = 0;
        const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
        if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size())
            return std::nullopt;
        return number;
    }

    analysis::HtaTrace* m_trace;
    std::string m_object;
    std::vector<Member> m_members;
};

}  // namespace

Result<std::vector<analysis::HtaTrace>> readHtaTraces(storage::RecordingReader& reader) {
    interchange::ExportOptions options;
    options.integerMicroseconds = true;
    auto scope = interchange::ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    std::vector<analysis::HtaTrace> traces;
    for (const RankId rank : scope->ranks()) {
        analysis::HtaTrace& trace = traces.emplace_back();
        trace.rank = rank;
        RowCollector collector(trace);
        const interchange::kineto_out::KinetoTrace events(*scope, rank);
        if (auto done = events.walk(collector); !done) return failure(done);
    }
    return traces;
}

}  // namespace shardscope::questions

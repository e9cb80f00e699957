#include "profiler/questions/occurrences.h"

#include "storage/interchange/formats/export_scope.h"
#include "storage/model/events.h"

#include <unordered_map>

namespace shardscope::questions {
namespace {

class Finder {
public:
    Finder(const Asked& asked, std::string_view name) : m_asked(asked), m_name(name) {}

    void look(const LaneFacts& lane, const SpanEvent& span) {
        const auto [known, fresh] = m_names.try_emplace(span.name.value);
        if (fresh) known->second = m_asked.reader.text(lane.rank, span.name) == m_name;
        if (!known->second) return;
        if (span.step != kNoStep && !m_asked.selection.takesStep(span.step)) return;
        const Occurrence here{{lane.rank, lane.lane}, span.range(), span.step};
        std::optional<Occurrences>& found = isApart(span) ? m_apart : m_found;
        if (!found) found = Occurrences{here, here};
        if (here.range.duration() > found->longest.range.duration()) found->longest = here;
        if (here.range.begin < found->first.range.begin) found->first = here;
    }
    void nextLane() { m_names.clear(); }
    /// Of the training, as `work` counts; of what is apart where the name is only there.
    [[nodiscard]] const std::optional<Occurrences>& found() const {
        return m_found ? m_found : m_apart;
    }

private:
    const Asked& m_asked;
    std::string_view m_name;
    std::unordered_map<std::uint32_t, bool> m_names;  ///< a rank's strings: whether they are it
    std::optional<Occurrences> m_found, m_apart;
};

}  // namespace

Result<std::optional<Occurrences>> readOccurrences(const Asked& asked, StackKind kind,
                                                   std::string_view name) {
    const interchange::ExportOptions options;
    auto scope = interchange::ExportScope::of(asked.reader, options);
    if (!scope) return failure(scope);
    Finder finder(asked, name);
    for (const LaneFacts& lane : asked.summary.lanes) {
        if (stackKindOf(lane) != kind || !asked.selection.takes(lane.rank)) continue;
        const TimeRange time = asked.selection.timeOf(asked.summary, lane.rank);
        if (time.empty()) continue;
        scope->setRange(time);
        finder.nextLane();
        auto walked =
            scope->forEachSpan(lane, [&](const SpanEvent& span) { finder.look(lane, span); });
        if (!walked) return failure(walked);
    }
    return finder.found();
}

}  // namespace shardscope::questions

#include "storage/interchange/pending_spans.h"

namespace shardscope::interchange {
namespace {

/// Form and number of values.
constexpr std::size_t kFront = 2;

columns::ArgumentForm formOf(std::span<const std::int64_t> record) {
    return {{static_cast<std::uint32_t>(record[0])}, static_cast<std::uint32_t>(record[1])};
}

StringId idOf(std::size_t place) {
    return {columns::kFirstArguments + static_cast<std::uint32_t>(place)};
}

}  // namespace

void PendingSpans::add(const SpanEvent& event, const SplitArguments& arguments) {
    SpanEvent with = event;
    with.arguments = idOf(m_arguments.size());
    m_arguments.push_back(arguments.form.text.value);
    m_arguments.push_back(arguments.form.count);
    m_arguments.insert(m_arguments.end(), arguments.values.begin(), arguments.values.end());
    m_window.add(with);
}

std::span<const std::int64_t> PendingSpans::recordOf(const SpanEvent& span) const {
    const auto from =
        std::span(m_arguments).subspan(span.arguments.value - columns::kFirstArguments);
    return from.first(kFront + static_cast<std::size_t>(from[1]));
}

Result<void> PendingSpans::resolve(std::vector<SpanEvent>& taken, ArgumentTable& table) {
    if (m_arguments.empty()) return {};
    for (SpanEvent& span : taken) {
        if (span.arguments == kEmptyString) {
            span.arguments = table.addNone();
        } else if (columns::isArguments(span.arguments)) {
            const auto record = recordOf(span);
            span.arguments = table.add(formOf(record), record.subspan(kFront));
        }
    }
    keepWaiting();
    return table.flush();
}

/// Drops records of spans that no longer wait.
void PendingSpans::keepWaiting() {
    std::vector<std::int64_t> kept;
    for (SpanEvent& span : m_window.waiting()) {
        if (!columns::isArguments(span.arguments)) continue;
        const auto record = recordOf(span);
        span.arguments = idOf(kept.size());
        kept.insert(kept.end(), record.begin(), record.end());
    }
    m_arguments = std::move(kept);
}

}  // namespace shardscope::interchange

#include "storage/model/capture_schedule.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace shardscope {
namespace {

std::optional<std::int32_t> numberIn(std::string_view text) {
    std::int32_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc{} && rest == text.data() + text.size() && number >= 0;
    return whole ? std::optional(number) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::optional<StepSpan> spanIn(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = numberIn(trimmed(text.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : numberIn(trimmed(text.substr(dash + 1)));
    if (!first || !last || *last < *first) return std::nullopt;
    return StepSpan{*first, *last};
}

}  // namespace

Result<std::vector<StepSpan>> parseStepSpans(std::string_view text) {
    std::vector<StepSpan> spans;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t comma = rest.find(',');
        const std::string_view one = trimmed(rest.substr(0, comma));
        const auto span = spanIn(one);
        if (!span)
            return failure(ErrorCode::kUsage,
                           std::string("'").append(one) +
                               "' is not a list of steps; write it like 10-20,500-520, counted "
                               "from 0");
        spans.push_back(*span);
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    return spans;
}

Result<CaptureSchedule> CaptureSchedule::of(const CaptureWish& wish) {
    auto spans = parseStepSpans(wish.steps);
    if (!spans) return failure(spans);
    CaptureSchedule schedule;
    schedule.m_level = wish.level;
    schedule.m_spans = std::move(*spans);
    schedule.m_every = wish.every;
    schedule.m_all = schedule.m_spans.empty() && schedule.m_every == 0;
    return schedule;
}

Result<CaptureSchedule> CaptureSchedule::of(const CaptureWish& wish, const CaptureChange& change) {
    if (change.level.empty() && change.steps.empty() && change.every == 0) return of(wish);
    auto spans = parseStepSpans(change.steps);
    if (!spans) return failure(spans);
    CaptureSchedule schedule;
    schedule.m_level = wish.level;
    schedule.m_reason = DetailReason::kRequest;
    schedule.m_spans = std::move(*spans);
    schedule.m_every = std::max(change.every, 0);
    schedule.m_all = schedule.m_spans.empty() && schedule.m_every == 0;
    if (change.level.empty()) return schedule;
    const auto level = fromWord<CaptureLevel>(change.level);
    if (!level || *level == CaptureLevel::kOff || *level > wish.level) {
        const std::string most =
            wish.level > CaptureLevel::kSteps ? std::string(" or up to ") + toWord(wish.level) : "";
        return failure(ErrorCode::kUsage, std::string("a run of capture level ") +
                                              toWord(wish.level) + " can be set to steps" + most +
                                              ", not to '" + change.level + "'");
    }
    schedule.m_level = *level;
    return schedule;
}

CaptureLevel CaptureSchedule::levelOf(std::int32_t step) const {
    const auto within = [step](const StepSpan& span) {
        return span.first <= step && step <= span.last;
    };
    const bool captured = m_all || (m_every > 0 && step % m_every == 0) ||
                          std::any_of(m_spans.begin(), m_spans.end(), within);
    return captured ? m_level : std::min(m_level, CaptureLevel::kSteps);
}

}  // namespace shardscope

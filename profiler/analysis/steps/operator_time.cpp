#include "profiler/analysis/steps/operator_time.h"

#include "profiler/analysis/findings.h"

#include <algorithm>

namespace shardscope::analysis {
namespace {

/// As namespaces of operators are spelled: aten, c10d, _c10d_functional, torch::autograd.
bool isOfNamespace(std::string_view name) {
    const auto end = name.find("::");
    if (end == std::string_view::npos || end == 0) return false;
    const std::string_view first = name.substr(0, end);
    const auto isOfWord = [](char letter) {
        return ('a' <= letter && letter <= 'z') || ('0' <= letter && letter <= '9') ||
               letter == '_';
    };
    return std::all_of(first.begin(), first.end(), isOfWord) &&
           name.find(' ') == std::string_view::npos;
}

Intervals waitsAndData(const RankEvents& events) {
    return phaseTime(events, [](Phase phase) {
        return isWait(phase) || phase == Phase::kData || setsAside(phase);
    });
}

}  // namespace

OperatorTime& OperatorTime::operator+=(const OperatorTime& other) {
    wall += other.wall;
    outside += other.outside;
    inLongGaps += other.inLongGaps;
    operators += other.operators;
    inOperators += other.inOperators;
    return *this;
}

bool isOperator(std::string_view name, const SpanEvent& span) {
    return span.correlation != 0 || span.arguments != kEmptyString || isOfNamespace(name);
}

void OperatorCover::add(const SpanEvent& span) {
    if (span.start < m_until) return;
    m_until = span.end();
    m_operators.push_back(span.range());
}

OperatorTime OperatorCover::timeOf(const RankEvents& events) const {
    OperatorTime time;
    time.rank = m_step.rank;
    time.step = m_step.step;
    time.wall = m_step.end - m_step.start;
    for (const TimeRange& each : m_operators) {
        if (!m_step.range().contains(each.begin)) continue;
        ++time.operators;
        time.inOperators += each.duration();
    }
    const Intervals other = unionOf(waitsAndData(events), communicatingTime(events));
    const Intervals whole = unionOf(std::vector<TimeRange>{m_step.range()});
    for (const TimeRange& gap : difference(whole, unionOf(unionOf(m_operators), other))) {
        time.outside += gap.duration();
        if (gap.duration() >= kLongGap) time.inLongGaps += gap.duration();
    }
    return time;
}

}  // namespace shardscope::analysis

#include "storage/interchange/builder/rank_steps.h"

#include "storage/model/step_facts.h"

#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace shardscope::interchange {
namespace {

bool repeats(const StepMarks::ByBegin& marks) {
    std::set<StepIndex> numbers;
    for (const auto& [begin, mark] : marks)
        if (!numbers.insert(mark.step).second) return true;
    return false;
}

}  // namespace

void RankSteps::derive() {
    if (m_marks == nullptr) m_marks = std::make_shared<StepMarks>();
}

void RankSteps::know(std::shared_ptr<StepMarks> marks) {
    m_marks = std::move(marks);
    m_known = true;
}

/// Numbers that repeat are those of parts of a step; but a profiler may start again at 0.
StepNaming RankSteps::chosen() const {
    for (const auto& [naming, marks] : m_named)
        if (naming == StepNaming::kProfilerStep || !repeats(marks)) return naming;
    return m_named.empty() ? StepNaming::kProfilerStep : m_named.begin()->first;
}

std::optional<StepMarks::Mark> RankSteps::Numbering::next(const StepMarks::Mark& mark) {
    if (mark.range.begin < m_end) return std::nullopt;
    std::int64_t added = m_added;
    if (mark.step.value + added <= m_last) added = m_last + 1 - mark.step.value;
    const std::int64_t number = mark.step.value + added;
    if (number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    m_restarts += added != m_added ? 1 : 0;
    m_added = added;
    m_last = number;
    m_end = mark.range.end;
    return StepMarks::Mark{{static_cast<std::int32_t>(number)}, mark.range};
}

StepMarks::ByBegin RankSteps::numbered(const StepMarks::ByBegin& named) {
    StepMarks::ByBegin steps;
    Numbering numbering;
    for (const auto& [begin, mark] : named)
        if (const auto step = numbering.next(mark)) steps.emplace(begin, *step);
    return steps;
}

void RankSteps::order() {
    if (!m_disordered || m_marks == nullptr || m_known) return;
    m_marks->replace(numbered(m_named.at(m_inUse)));
    m_disordered = false;
}

void RankSteps::add(const NamedStep& step, TimeRange range) {
    const bool first = m_named.empty();
    StepMarks::ByBegin& named = m_named[step.naming];
    const StepMarks::Mark mark{step.step, range};
    named.emplace(range.begin, mark);
    if (m_marks == nullptr || m_known) return;
    if (first || step.naming == m_inUse) {
        m_inUse = step.naming;
        if (range.begin < m_latest) m_disordered = true;
        m_latest = std::max(m_latest, range.begin);
        if (const auto next = m_disordered ? std::nullopt : m_numbering.next(mark))
            m_marks->add(*next);
        if (range.begin <= m_storedThrough) m_late = true;
    } else if (step.naming < m_inUse) {
        m_inUse = step.naming;
        m_disordered = true;
        m_latest = std::prev(named.end())->first;
        if (m_storedThrough.ns > -kStorableTime) m_late = true;
    }
}

bool RankSteps::cameLate() const {
    if (m_late) return true;
    if (m_marks == nullptr || m_known || m_named.empty()) return false;
    return m_marks->launchCameLate() || chosen() != m_inUse;
}

std::shared_ptr<StepMarks> RankSteps::marked() const {
    if (m_named.empty() || m_marks == nullptr) return nullptr;
    m_marks->replace(numbered(m_named.at(chosen())));
    return m_marks;
}

std::vector<StepFacts> RankSteps::rows(RankId rank) const {
    std::vector<StepFacts> rows;
    const auto named = m_named.find(chosen());
    if (named == m_named.end()) return rows;
    for (const auto& [begin, mark] : numbered(named->second)) {
        StepFacts& step = rows.emplace_back();
        step.rank = rank;
        step.step = mark.step;
        step.start = begin;
        step.end = mark.range.end;
    }
    return rows;
}

void RankSteps::count(Counts& taken, Counts& left) const {
    for (const auto& [naming, marks] : m_named)
        (naming == chosen() ? taken : left)[naming] += marks.size();
}

std::size_t RankSteps::restarts() const {
    const auto named = m_named.find(chosen());
    Numbering numbering;
    if (named != m_named.end())
        for (const auto& [begin, mark] : named->second) static_cast<void>(numbering.next(mark));
    return numbering.restarts();
}

}  // namespace shardscope::interchange

#include "storage/interchange/builder/rank_steps.h"

#include "storage/model/step_facts.h"

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

void RankSteps::add(const NamedStep& step, TimeRange range) {
    const bool first = m_named.empty();
    StepMarks::ByBegin& named = m_named[step.naming];
    named.emplace(range.begin, StepMarks::Mark{step.step, range});
    if (m_marks == nullptr || m_known) return;
    if (first || step.naming == m_inUse) {
        m_inUse = step.naming;
        m_marks->add({step.step, range});
        if (range.begin <= m_storedThrough) m_late = true;
    } else if (step.naming < m_inUse) {
        m_inUse = step.naming;
        m_marks->replace(named);
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
    m_marks->replace(m_named.at(chosen()));
    return m_marks;
}

std::vector<StepFacts> RankSteps::rows(RankId rank) const {
    std::vector<StepFacts> rows;
    const auto named = m_named.find(chosen());
    if (named == m_named.end()) return rows;
    std::set<StepIndex> numbers;
    Timestamp end{-kStorableTime};
    for (const auto& [begin, mark] : named->second) {
        if (begin < end || !numbers.insert(mark.step).second) continue;
        end = mark.range.end;
        StepFacts& step = rows.emplace_back();
        step.rank = rank;
        step.step = mark.step;
        step.start = begin;
        step.end = end;
    }
    return rows;
}

void RankSteps::count(Counts& taken, Counts& left) const {
    for (const auto& [naming, marks] : m_named)
        (naming == chosen() ? taken : left)[naming] += marks.size();
}

}  // namespace shardscope::interchange

#include "app/desktop/models/selection.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

constexpr std::size_t kLongestHistory = 200;

}  // namespace

bool Selection::includes(RankId rank) const {
    return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

SelectionModel::SelectionModel(QObject* parent) : QObject(parent) {}

void SelectionModel::select(const Selection& selection) {
    if (selection == current()) return;
    m_history.resize(m_position + 1);
    m_history.push_back(selection);
    if (m_history.size() > kLongestHistory) m_history.erase(m_history.begin());
    m_position = m_history.size() - 1;
    Q_EMIT selectionChanged();
}

void SelectionModel::selectRange(TimeRange range) {
    Selection next = current();
    next.range = range;
    next.steps.reset();
    select(next);
}

void SelectionModel::selectSteps(StepSpan steps) {
    Selection next = current();
    next.steps = steps;
    next.range.reset();
    select(next);
}

void SelectionModel::selectRanks(std::vector<RankId> ranks) {
    Selection next = current();
    std::sort(ranks.begin(), ranks.end());
    next.ranks = std::move(ranks);
    select(next);
}

void SelectionModel::goBack() {
    if (!canGoBack()) return;
    --m_position;
    Q_EMIT selectionChanged();
}

void SelectionModel::goForward() {
    if (!canGoForward()) return;
    ++m_position;
    Q_EMIT selectionChanged();
}

void SelectionModel::shift(Duration by) {
    if (by == Duration{}) return;
    for (Selection& each : m_history)
        if (each.range) each.range = TimeRange{each.range->begin + by, each.range->end + by};
    if (current().range) Q_EMIT selectionChanged();
}

void SelectionModel::reset() {
    m_history.assign(1, Selection{});
    m_position = 0;
    Q_EMIT selectionChanged();
}

}  // namespace shardscope::desktop

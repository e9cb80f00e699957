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

void SelectionModel::show(const View& next) {
    if (next == view()) return;
    const View before = view();
    m_history.resize(m_position + 1);
    m_history.push_back(next);
    if (m_history.size() > kLongestHistory) m_history.erase(m_history.begin());
    m_position = m_history.size() - 1;
    announce(before);
}

void SelectionModel::visit(const QString& page) {
    if (view().page.isEmpty())
        m_history[m_position].page = page;  // the first one; there is no way back from it
    else
        show({page, current()});
}

void SelectionModel::announce(const View& before) {
    const bool isOtherPage = before.page != view().page;
    if (before.selection != current()) Q_EMIT selectionChanged();
    if (isOtherPage) Q_EMIT pageChanged();
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
    if (canGoBack()) goTo(m_position - 1);
}

void SelectionModel::goForward() {
    if (canGoForward()) goTo(m_position + 1);
}

void SelectionModel::goTo(std::size_t position) {
    const View before = view();
    m_position = position;
    announce(before);
}

void SelectionModel::shift(Duration by) {
    if (by == Duration{}) return;
    for (View& each : m_history)
        if (auto& range = each.selection.range)
            range = TimeRange{range->begin + by, range->end + by};
    if (current().range) Q_EMIT selectionChanged();
}

void SelectionModel::reset() {
    m_history.assign(1, View{view().page, {}});
    m_position = 0;
    Q_EMIT selectionChanged();
}

}  // namespace shardscope::desktop

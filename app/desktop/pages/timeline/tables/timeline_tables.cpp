#include "app/desktop/pages/timeline/tables/timeline_tables.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/tables/find_bar.h"
#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "app/desktop/pages/timeline/tables/range_table.h"
#include "app/desktop/pages/timeline/tables/search.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/widgets/data_table.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/remote/remote_address.h"

#include <QMenu>
#include <algorithm>
#include <chrono>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Between two looks at how far a search is.
constexpr std::chrono::milliseconds kSearchPiece{80};

bool isRemote(const OpenRecording& recording) {
    return storage::remote::isRemote(recording.path.toStdString());
}

}  // namespace

TimelineTables::TimelineTables(RecordingLoader& loader, TablePanel& panel, FindBar& bar,
                               QObject* parent)
    : QObject(parent),
      m_panel(panel),
      m_bar(bar),
      m_rangeTopic(loader, Urgency::kTable),
      m_searchTopic(loader, Urgency::kTable),
      m_hitTopic(loader, Urgency::kSlice) {
    connect(&panel, &TablePanel::tabChanged, this, &TimelineTables::ask);
    connect(&panel.table(), &DataTable::rowPicked, this, &TimelineTables::pick);
    connect(&panel.table(), &DataTable::rowActivated, this, &TimelineTables::activate);
    connect(&panel.table(), &DataTable::menuOpens, this, &TimelineTables::addToMenu);
    connect(&bar, &FindBar::searchChanged, this, &TimelineTables::startSearch);
    connect(&bar, &FindBar::stepRequested, this, &TimelineTables::goToHit);
    connect(&bar, &FindBar::closed, this, [this] {
        startSearch();
        Q_EMIT findClosed();
    });
}

void TimelineTables::setRecording(const RecordingPtr& recording) {
    const bool isSame = m_recording && m_recording->summary.run.id == recording->summary.run.id;
    m_recording = recording;
    m_range.reset();
    m_wanted.clear();
    m_panel.setKinds(rangeKinds(recording->summary), isSame);
    startSearch();
}

void TimelineTables::setSelection(const Selection& selection) {
    const bool otherRanks = selection.ranks != m_selection.ranks;
    m_selection = selection;
    if (otherRanks) startSearch();
}

void TimelineTables::ask() {
    if (!m_recording || m_panel.isFolded()) return;
    if (m_panel.tab() == TableTab::kFound) showFound();
    if (m_panel.tab() == TableTab::kRange) askForRange();
}

void TimelineTables::askForRange() {
    const RangeTableQuery query{m_recording->timeOf(m_selection), m_panel.kind(), m_selection.ranks,
                                m_selection.steps};
    if (m_tooFar) {
        m_rangeTopic.forget();
        m_panel.setCaption({});
        m_panel.table().setTable(rangeColumns(), {});
        return;
    }
    m_rangeTopic.ask(
        [query](auto& reader, const auto& recording, const auto& generation) {
            return loadRangeTable(reader, recording, query, generation);
        },
        [this](const RangeTablePtr& table) {
            m_range = table;
            if (m_panel.tab() == TableTab::kRange) showRange();
        });
}

void TimelineTables::showRange() {
    if (goesBack()) return;
    m_panel.setCaption(rangeCaption(*m_recording, m_selection, *m_range));
    m_panel.table().setTable(rangeColumns(), rangeRows(*m_range));
    selectWanted();
}

void TimelineTables::selectWanted() {
    if (!m_range || m_wanted.isEmpty()) return;
    const auto& rows = m_range->rows;
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [this](const RangeRow& row) { return row.name == m_wanted; });
    if (found != rows.end()) m_panel.table().selectSource(static_cast<int>(found - rows.begin()));
}

void TimelineTables::showSlice(const LaneFacts& lane, const SliceView& slice) {
    const auto kind = rangeKind(lane);
    if (!kind || slice.count > 1 || m_panel.tab() != TableTab::kRange) return;
    m_wanted = slice.name;
    if (*kind == m_panel.kind()) return selectWanted();
    m_shown = {m_shown ? m_shown->before : m_panel.kind(), *kind};
    m_panel.showKind(*kind);
}

/// A slice's kind is shown until a range has nothing of it, then again what was chosen before.
bool TimelineTables::goesBack() {
    if (m_shown && m_panel.kind() != m_shown->kind) m_shown.reset();
    if (!m_shown || !m_range->rows.empty()) return false;
    m_panel.showKind(std::exchange(m_shown, std::nullopt)->before);
    return true;
}

void TimelineTables::pick(int row) {
    if (m_panel.tab() == TableTab::kFound) {
        m_hit = row;
        showHit();
        return;
    }
    if (m_panel.tab() != TableTab::kRange || !m_range || row < 0) return;
    m_wanted = m_range->rows[static_cast<std::size_t>(row)].name;
    Q_EMIT nameHighlighted(m_wanted);
}

void TimelineTables::activate(int row) {
    if (row < 0) return;
    if (m_panel.tab() == TableTab::kFound) {
        m_hit = row;
        goToHit(0);
        return;
    }
    if (m_panel.tab() != TableTab::kRange || !m_range) return;
    const RangeRow& longest = m_range->rows[static_cast<std::size_t>(row)];
    m_wanted = longest.name;
    Q_EMIT nameHighlighted(longest.name);
    Q_EMIT sliceRequested(longest.where, longest.longest);
}

void TimelineTables::addToMenu(QMenu* menu, int row) {
    if (m_panel.tab() == TableTab::kMarks) return;
    menu->addAction(m_panel.tab() == TableTab::kFound ? tr("Go to it") : tr("Go to the longest"),
                    this, [this, row] { activate(row); });
    if (m_panel.tab() != TableTab::kRange || !m_range || row < 0) return;
    const QString name = m_range->rows[static_cast<std::size_t>(row)].name;
    menu->addAction(tr("Find all of this name"), this, [this, name] { find(name); });
}

void TimelineTables::openFind() {
    m_bar.open();
    startSearch();
}

void TimelineTables::find(const QString& text) {
    m_bar.setText(text);
    openFind();
}

void TimelineTables::filterTo(const LaneFacts& lane, const QString& name) {
    Q_EMIT tablesWanted();
    if (const auto kind = rangeKind(lane)) m_panel.showKind(*kind);
    m_panel.setFilter(name);
}

void TimelineTables::startSearch() {
    m_searchTopic.forget();
    m_search.reset();
    m_found.reset();
    m_hit = -1;
    m_bar.showNothing();
    Q_EMIT hitsChanged({});
    const SearchText text = m_bar.search();
    if (m_bar.isHidden() || text.isEmpty() || !text.error().isEmpty() || !m_recording) {
        m_panel.dropTab(TableTab::kFound);
        return;
    }
    m_search = std::make_shared<Search>(text, m_recording->summary, m_selection.ranks,
                                        isRemote(*m_recording));
    searchOn();
}

void TimelineTables::searchOn() {
    m_searchTopic.ask(
        [search = m_search](auto& reader, const auto&, const auto& generation) {
            return search->searchOn(reader, generation, kSearchPiece);
        },
        [this](const SearchResultPtr& found) {
            const bool isFirst = m_found == nullptr;
            const bool more = !m_found || found->hits.size() != m_found->hits.size() ||
                              found->count != m_found->count;
            m_hit = placeIn(*found);
            m_found = found;
            showHit();
            if (more) Q_EMIT hitsChanged(found->moments);
            if (isFirst) {
                Q_EMIT tablesWanted();
                m_panel.showTab(TableTab::kFound);
            }
            if (more && m_panel.tab() == TableTab::kFound) showFound();
            if (!found->isComplete()) searchOn();
        });
}

/// Of the match that one looks at, among more of them.
int TimelineTables::placeIn(const SearchResult& result) const {
    if (!m_found || m_hit < 0) return -1;
    const SearchHit& current = m_found->hits[static_cast<std::size_t>(m_hit)];
    const auto same = [&](const SearchHit& hit) {
        return hit.key == current.key && hit.span.start == current.span.start &&
               hit.span.depth == current.span.depth;
    };
    const auto at = std::find_if(result.hits.begin(), result.hits.end(), same);
    return at == result.hits.end() ? -1 : static_cast<int>(at - result.hits.begin());
}

void TimelineTables::showHit() {
    if (!m_found) return;
    m_bar.showResult(
        *m_found, m_hit,
        m_hit < 0 ? QString()
                  : placeOf(m_found->hits[static_cast<std::size_t>(m_hit)], m_recording->summary));
}

void TimelineTables::showFound() {
    if (!m_found) return;
    m_panel.setCaption(foundCaption(*m_found));
    m_panel.table().setTable(foundColumns(), foundRows(m_recording->summary, *m_found));
}

/// From what is in sight on; round the end.
int TimelineTables::firstHit(int step) const {
    const auto& hits = m_found->hits;
    const auto isBefore = [](const SearchHit& hit, Timestamp time) {
        return hit.span.start < time;
    };
    const Timestamp from = step < 0 ? m_view.end : m_view.begin;
    const auto next = std::lower_bound(hits.begin(), hits.end(), from, isBefore);
    const auto all = static_cast<int>(hits.size());
    const auto place = static_cast<int>(next - hits.begin());
    return step < 0 ? (place == 0 ? all - 1 : place - 1) : place % all;
}

void TimelineTables::goToHit(int step) {
    if (!m_found || m_found->hits.empty()) return;
    const auto all = static_cast<int>(m_found->hits.size());
    m_hit = m_hit < 0 ? firstHit(step) : ((m_hit + step) % all + all) % all;
    showHit();
    if (m_panel.tab() == TableTab::kFound) m_panel.table().selectSource(m_hit);
    goTo(m_found->hits[static_cast<std::size_t>(m_hit)]);
}

void TimelineTables::goTo(const SearchHit& hit) {
    m_hitTopic.ask(
        [hit](auto& reader, const auto& recording, const auto&) {
            return loadSlice(reader, recording, hit.key, hit.span);
        },
        [this, key = hit.key](const SliceView& slice) { Q_EMIT hitRequested(key, slice); });
}

}  // namespace shardscope::desktop

#include "app/desktop/shell/view_keeper.h"

#include "app/desktop/loading/lasting_address.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/page.h"
#include "app/desktop/shell/commands.h"

#include <QFileInfo>
#include <utility>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

namespace {

/// Wherever the recording lies: the id of its run; its address where it has none.
QString keyOf(const OpenRecording& recording) {
    const QString id = fromUtf8(recording.summary.run.id);
    return id.isEmpty() ? lastingAddress(recording) : id;
}

}  // namespace

ViewKeeper::ViewKeeper(RecordingLoader& loader, SelectionModel& selection, const QString& file,
                       PageNames pageNames, QObject* parent)
    : QObject(parent),
      m_loader(loader),
      m_selection(selection),
      m_file(file),
      m_pageNames(std::move(pageNames)) {
    connect(&loader, &RecordingLoader::opening, this, [this] { m_awaited.reset(); });
    connect(&loader, &RecordingLoader::openFailed, this, [this] { m_awaited.reset(); });
    connect(&loader, &RecordingLoader::opened, this, [this](const RecordingPtr& recording) {
        takeUp(recording);
        keepLast();  // for windows that are never closed
    });
    connect(&loader, &RecordingLoader::grown, this, &ViewKeeper::takeUp);
}

void ViewKeeper::addCommands(Commands& commands) {
    const QString group = tr("Views");
    for (int digit = kFirstView; digit <= kLastView; ++digit)
        commands.addOfSeries(u"view.recall.%1"_s.arg(digit), group, tr("Recall view %1").arg(digit),
                             QKeySequence(u"Ctrl+%1"_s.arg(digit)),
                             [this, digit] { recall(digit); });
    for (int digit = kFirstView; digit <= kLastView; ++digit)
        commands.addOfSeries(u"view.store.%1"_s.arg(digit), group, tr("Store view %1").arg(digit),
                             QKeySequence(u"Ctrl+Shift+%1"_s.arg(digit)),
                             [this, digit] { store(digit); });
    commands.addNote(group, u"Ctrl+1 … Ctrl+9"_s, tr("Recall a view: page and selection"));
    commands.addNote(group, u"Ctrl+Shift+1 … 9"_s, tr("Store what is looked at as a view"));
}

QString ViewKeeper::describe(const OpenRecording& recording, const View& view) const {
    return u"%1 · %2"_s.arg(m_pageNames(view.page), selectionText(recording, view.selection));
}

void ViewKeeper::store(int digit) {
    const RecordingPtr recording = m_loader.recording();
    if (!recording) return Q_EMIT told(tr("No recording is open, of which a view could be stored"));
    if (recording->isImporting())
        return Q_EMIT told(tr("The trace is being imported; store views once that has ended"));
    const View& view = m_selection.view();
    if (keepView(m_file, keyOf(*recording), digit, view))
        return Q_EMIT told(tr("Stored as view %1: %2").arg(digit).arg(describe(*recording, view)));
    Q_EMIT told(m_file.isEmpty()
                    ? tr("This window keeps nothing: view %1 was not stored").arg(digit)
                    : tr("%1 cannot be written: view %2 was not stored").arg(m_file).arg(digit));
}

void ViewKeeper::recall(int digit) {
    const RecordingPtr recording = m_loader.recording();
    if (!recording) return Q_EMIT told(tr("No recording is open: views are stored of each"));
    const auto view = keptView(m_file, keyOf(*recording), digit);
    if (!view || m_pageNames(view->page).isEmpty())
        return Q_EMIT told(
            tr("This recording has no view %1 yet; Ctrl+Shift+%1 stores one").arg(digit));
    const bool isCut = show(*recording, *view);
    const QString text = describe(*recording, m_selection.view());
    Q_EMIT told(
        isCut
            ? tr("View %1: %2; the recording has not all of what was selected").arg(digit).arg(text)
            : tr("View %1: %2").arg(digit).arg(text));
}

bool ViewKeeper::show(const OpenRecording& recording, View view) {
    const bool isCut = fitTo(recording, view.selection);
    m_selection.show(view);
    return isCut;
}

void ViewKeeper::goOn() {
    const auto last = lastSession(m_file);
    if (!last) return;
    Q_EMIT fileWanted(last->address);
    if (!m_pageNames(last->view.page).isEmpty()) Q_EMIT pageWanted(last->view.page);
    m_awaited = last->view;
}

void ViewKeeper::takeUp(const RecordingPtr& recording) {
    if (recording->isImporting()) return;
    if (const auto view = std::exchange(m_awaited, std::nullopt)) {
        // the page is there already, or the user has gone on to another one
        show(*recording, {m_selection.view().page, view->selection});
    }
}

void ViewKeeper::keepLast() const {
    const RecordingPtr recording = m_loader.recording();
    if (!recording || recording->isImporting()) return;
    View view = m_selection.view();
    for (const QLatin1StringView page : {page_ids::kStart, page_ids::kNewRun, page_ids::kLive})
        if (view.page == page) view.page = page_ids::kOverview;  // those are of no recording
    const QString address = lastingAddress(*recording);
    keepSession(m_file, {address, QFileInfo(address.section(u'\n', 0, 0)).fileName(),
                         describe(*recording, view), view});
}

}  // namespace shardscope::desktop

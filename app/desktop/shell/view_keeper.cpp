#include "app/desktop/shell/view_keeper.h"

#include "app/desktop/loading/remote_hosts.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/page.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/page_area.h"

#include <QFileInfo>
#include <QInputDialog>
#include <QMenu>
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
    commands.addNote(group, u"Ctrl+Shift+1 … 9"_s,
                     tr("Store the current page and selection as a view"));
}

QString ViewKeeper::describe(const OpenRecording& recording, const View& view) const {
    return u"%1 · %2"_s.arg(m_pageNames(view.page), selectionText(recording, view.selection));
}

void ViewKeeper::store(int digit) {
    const RecordingPtr recording = m_loader.recording();
    if (!recording)
        return Q_EMIT reported(tr("No recording is open, so there is no view to store"));
    if (recording->isImporting())
        return Q_EMIT reported(
            tr("The trace is being imported; store views when the import is complete"));
    const View& view = m_selection.view();
    if (keepView(m_file, keyOf(*recording), digit, view))
        return Q_EMIT reported(
            tr("Stored as view %1: %2").arg(digit).arg(describe(*recording, view)));
    Q_EMIT reported(
        m_file.isEmpty()
            ? tr("This window does not save settings: view %1 was not stored").arg(digit)
            : tr("%1 cannot be written: view %2 was not stored").arg(m_file).arg(digit));
}

void ViewKeeper::recall(int digit) {
    const RecordingPtr recording = m_loader.recording();
    if (!recording)
        return Q_EMIT reported(tr("No recording is open: views are stored per recording"));
    const auto view = keptView(m_file, keyOf(*recording), digit);
    if (!view || m_pageNames(view->page).isEmpty())
        return Q_EMIT reported(
            tr("This recording has no view %1 yet; Ctrl+Shift+%1 stores one").arg(digit));
    const bool isCut = show(*recording, *view);
    const QString text = describe(*recording, m_selection.view());
    Q_EMIT reported(isCut ? tr("View %1: %2; the recording lacks part of the stored selection")
                                .arg(digit)
                                .arg(text)
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

namespace {

struct PlaceWords {
    PagePlace place;
    const char* id;
    const char* name;
    const char* keys;
};

constexpr PlaceWords kPlaces[] = {
    {PagePlace::kWindow, "apart", QT_TRANSLATE_NOOP("LayoutKeeper", "Page in a separate window"),
     "F9"},
    {PagePlace::kRight, "right",
     QT_TRANSLATE_NOOP("LayoutKeeper", "Page on the right of the others"), "Shift+F9"},
    {PagePlace::kBelow, "below", QT_TRANSLATE_NOOP("LayoutKeeper", "Page below the others"),
     "Ctrl+F9"},
    {PagePlace::kMiddle, "middle", QT_TRANSLATE_NOOP("LayoutKeeper", "Page back in the middle"),
     "Alt+F9"},
};

QString recallId(const QString& name) {
    return u"layout.recall."_s + name;
}
QString forgetId(const QString& name) {
    return u"layout.forget."_s + name;
}

}  // namespace

LayoutKeeper::LayoutKeeper(PageArea& area, Commands& commands, const QString& file, QObject* parent)
    : QObject(parent), m_area(area), m_commands(commands), m_file(file) {}

void LayoutKeeper::addCommands() {
    const QString group = tr("Layout");
    m_commands.add(u"layout.plain"_s, group, tr("All pages in the middle"), {QKeySequence(u"F5"_s)},
                   [this] { m_area.putAllBack(); });
    for (const LayoutPreset& preset : layoutPresets())
        m_commands.add(u"layout."_s + preset.id, group,
                       u"%1: %2"_s.arg(preset.name(), preset.what()), {QKeySequence(preset.key)},
                       [this, &preset] { apply(preset); });
    addPlaceCommands(group);
    m_commands.add(u"layout.store"_s, group, tr("Store this layout…"),
                   {QKeySequence(u"Shift+F5"_s)}, [this] { askForName(); });
    for (const QString& name : keptLayoutNames(m_file)) addKept(name);
}

void LayoutKeeper::addPlaceCommands(const QString& group) {
    for (const PlaceWords& each : kPlaces)
        m_commands.add(u"layout.place."_s + QLatin1String(each.id), group, tr(each.name),
                       {QKeySequence(QLatin1String(each.keys))},
                       [this, place = each.place] { moveCurrent(place); });
}

void LayoutKeeper::moveCurrent(PagePlace place) {
    const QString page = m_area.current();
    m_area.move(page, place);
    if (m_area.placeOf(page) != place)
        Q_EMIT reported(
            tr("The last page in the middle cannot be moved; put another one there first"));
}

void LayoutKeeper::showPlaces(const QString& page, QPoint at) {
    auto* menu = new QMenu(&m_area);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (const PlaceWords& each : kPlaces) {
        QAction* action = menu->addAction(tr(each.name));
        action->setEnabled(m_area.placeOf(page) != each.place);
        connect(action, &QAction::triggered, this,
                [this, page, place = each.place] { m_area.move(page, place); });
    }
    menu->popup(at);
}

void LayoutKeeper::apply(const LayoutPreset& preset) {
    m_area.apply(preset);
    Q_EMIT reported(tr("Layout %1: %2").arg(preset.name(), preset.what()));
}

void LayoutKeeper::takeUpLast() {
    if (std::exchange(m_isTakenUp, true) || !m_area.apart().isEmpty()) return;
    auto last = lastLayout(m_file);
    if (!last) return;
    last->middle.clear();
    last->apart.removeAll(m_area.current());
    m_area.apply(*last);
}

void LayoutKeeper::keepLast() const {
    if (m_isTakenUp || !m_area.apart().isEmpty()) keepLastLayout(m_file, m_area.pageLayout());
}

void LayoutKeeper::askForName() {
    auto* dialog = new QInputDialog(&m_area);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Store this layout"));
    dialog->setLabelText(tr("Name of the layout; one of that name is replaced"));
    dialog->setComboBoxEditable(true);
    dialog->setComboBoxItems(keptLayoutNames(m_file));
    connect(dialog, &QInputDialog::textValueSelected, this, &LayoutKeeper::store);
    dialog->open();
}

void LayoutKeeper::store(const QString& text) {
    const QString name = text.simplified();
    if (name.isEmpty()) return Q_EMIT reported(tr("A layout needs a name; nothing was stored"));
    if (!keepLayout(m_file, name, m_area.pageLayout()))
        return Q_EMIT reported(
            m_file.isEmpty()
                ? tr("This window does not save settings: layout %1 was not stored").arg(name)
                : tr("%1 cannot be written: layout %2 was not stored").arg(m_file, name));
    removeKept(name);
    addKept(name);
    Q_EMIT reported(tr("Stored layout %1; the menu and Ctrl+Shift+P recall it").arg(name));
}

void LayoutKeeper::recall(const QString& name) {
    const auto layout = keptLayout(m_file, name);
    if (!layout) return Q_EMIT reported(tr("Layout %1 no longer exists").arg(name));
    m_area.apply(*layout);
    Q_EMIT reported(tr("Layout %1").arg(name));
}

void LayoutKeeper::forget(const QString& name) {
    forgetLayout(m_file, name);
    removeKept(name);
    Q_EMIT reported(tr("Deleted layout %1").arg(name));
}

void LayoutKeeper::addKept(const QString& name) {
    const QString group = tr("Layout");
    m_commands.add(recallId(name), group, tr("Layout %1").arg(name), {},
                   [this, name] { recall(name); });
    m_commands.add(forgetId(name), group, tr("Forget layout %1").arg(name), {},
                   [this, name] { forget(name); });
}

void LayoutKeeper::removeKept(const QString& name) {
    m_commands.remove(recallId(name));
    m_commands.remove(forgetId(name));
}

}  // namespace shardscope::desktop

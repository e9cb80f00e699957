#include "app/desktop/shell/layout_keeper.h"

#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/page_area.h"

#include <QInputDialog>
#include <QMenu>
#include <utility>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

namespace {

struct PlaceWords {
    PagePlace place;
    const char* id;
    const char* name;
    const char* keys;
};

constexpr PlaceWords kPlaces[] = {
    {PagePlace::kWindow, "apart", QT_TRANSLATE_NOOP("LayoutKeeper", "Page in a window of its own"),
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
        Q_EMIT told(tr("The last page of the middle stays there; put another one back first"));
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
    Q_EMIT told(tr("Layout %1: %2").arg(preset.name(), preset.what()));
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
    if (name.isEmpty()) return Q_EMIT told(tr("A layout needs a name; nothing was stored"));
    if (!keepLayout(m_file, name, m_area.pageLayout()))
        return Q_EMIT told(
            m_file.isEmpty()
                ? tr("This window keeps nothing: layout %1 was not stored").arg(name)
                : tr("%1 cannot be written: layout %2 was not stored").arg(m_file, name));
    removeKept(name);
    addKept(name);
    Q_EMIT told(tr("Stored layout %1; the menu and Ctrl+Shift+P recall it").arg(name));
}

void LayoutKeeper::recall(const QString& name) {
    const auto layout = keptLayout(m_file, name);
    if (!layout) return Q_EMIT told(tr("There is no layout %1 any more").arg(name));
    m_area.apply(*layout);
    Q_EMIT told(tr("Layout %1").arg(name));
}

void LayoutKeeper::forget(const QString& name) {
    forgetLayout(m_file, name);
    removeKept(name);
    Q_EMIT told(tr("Forgot layout %1").arg(name));
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

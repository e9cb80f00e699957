#include "app/desktop/pages/timeline/slice_menu.h"

#include "app/desktop/models/format.h"

#include <QApplication>
#include <QClipboard>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QStringList>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

QString sliceText(const SliceDetails& details) {
    QStringList lines{details.title};
    if (!details.code.isEmpty()) lines << details.code;
    for (const auto& [name, value] : details.rows) lines << name + u'\t' + value;
    for (const auto& [name, value] : details.arguments) lines << name + u'\t' + value;
    return lines.join(u'\n');
}

QString sliceJson(const LaneFacts& lane, const SliceView& slice) {
    QJsonObject object{{u"name"_s, slice.name},
                       {u"rank"_s, static_cast<qint64>(lane.rank.value)},
                       {u"lane"_s, fromUtf8(lane.name)},
                       {u"start_ns"_s, static_cast<qint64>(slice.range.begin.ns)},
                       {u"duration_ns"_s, static_cast<qint64>(slice.range.duration().ns)}};
    if (slice.step != kNoStep) object.insert(u"step"_s, static_cast<qint64>(slice.step.value));
    if (slice.count > 1) {
        object.insert(u"events"_s, static_cast<qint64>(slice.count));
        object.insert(u"busy_ns"_s, static_cast<qint64>(slice.busy.ns));
    }
    if (slice.correlation != 0)
        object.insert(u"correlation"_s, static_cast<qint64>(slice.correlation));
    const QJsonObject arguments = QJsonDocument::fromJson(slice.arguments.toUtf8()).object();
    if (!arguments.isEmpty())
        object.insert(u"arguments"_s, arguments);
    else if (!slice.arguments.isEmpty())
        object.insert(u"arguments"_s, slice.arguments);
    return QString::fromUtf8(QJsonDocument(object).toJson());
}

QMenu* makeSliceMenu(QWidget* parent, const SliceDetails& details, const LaneFacts& lane,
                     const SliceView& slice, const SliceActions& actions) {
    auto* menu = new QMenu(parent);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto copies = [](const QString& text) {
        return [text] { QApplication::clipboard()->setText(text); };
    };
    menu->addAction(QObject::tr("Zoom to it"), parent, actions.zoom);
    menu->addAction(QObject::tr("Select its time"), parent, actions.selectTime);
    menu->addAction(QObject::tr("Find all of this name"), parent, actions.find);
    menu->addAction(QObject::tr("Filter the table to this name"), parent, actions.filterTable);
    menu->addSeparator();
    menu->addAction(QObject::tr("Copy name"), parent, copies(slice.name));
    menu->addAction(QObject::tr("Copy details"), parent, copies(sliceText(details)));
    menu->addAction(QObject::tr("Copy details as JSON"), parent, copies(sliceJson(lane, slice)));
    return menu;
}

}  // namespace shardscope::desktop

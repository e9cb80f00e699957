#include "app/desktop/models/page_layout.h"

#include <QCoreApplication>
#include <QSettings>
#include <QUrl>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr const char* kContext = "PageLayout";

QString keptUnder(const QString& name) {
    return u"layouts/"_s + QString::fromLatin1(QUrl::toPercentEncoding(name));
}

std::optional<PageLayout> read(const QString& file, const QString& group) {
    if (file.isEmpty()) return std::nullopt;
    QSettings settings(file, QSettings::IniFormat);
    settings.beginGroup(group);
    if (!settings.contains(u"docks"_s)) return std::nullopt;
    PageLayout layout;
    layout.middle = settings.value(u"middle"_s).toString();
    layout.apart = settings.value(u"apart"_s).toStringList();
    layout.docks = settings.value(u"docks"_s).toByteArray();
    settings.beginGroup(u"dividers"_s);
    const QStringList names = settings.childKeys();
    for (const QString& name : names) layout.dividers[name] = settings.value(name).toByteArray();
    return layout;
}

bool write(const QString& file, const QString& group, const PageLayout& layout) {
    if (file.isEmpty()) return false;
    QSettings settings(file, QSettings::IniFormat);
    settings.beginGroup(group);
    settings.remove(QString());
    settings.setValue(u"middle"_s, layout.middle);
    settings.setValue(u"apart"_s, layout.apart);
    settings.setValue(u"docks"_s, layout.docks);
    for (auto each = layout.dividers.begin(); each != layout.dividers.end(); ++each)
        settings.setValue(u"dividers/"_s + each.key(), each.value());
    settings.sync();
    return settings.status() == QSettings::NoError;
}

}  // namespace

const std::vector<LayoutPreset>& layoutPresets() {
    static const std::vector<LayoutPreset> presets{
        {u"time"_s,
         QT_TRANSLATE_NOOP("PageLayout", "Time"),
         QT_TRANSLATE_NOOP("PageLayout", "Timeline, with operators and kernels of the selection"),
         u"F6"_s,
         u"timeline"_s,
         {{u"operators"_s, PagePlace::kRight, 0.44}}},
        {u"memory"_s,
         QT_TRANSLATE_NOOP("PageLayout", "Memory"),
         QT_TRANSLATE_NOOP("PageLayout", "Memory, with the Timeline below it"),
         u"F7"_s,
         u"memory"_s,
         {{u"timeline"_s, PagePlace::kBelow, 0.5}}},
        {u"compare"_s,
         QT_TRANSLATE_NOOP("PageLayout", "Compare"),
         QT_TRANSLATE_NOOP("PageLayout", "Compare, with the Timeline of the open recording"),
         u"F8"_s,
         u"compare"_s,
         {{u"timeline"_s, PagePlace::kRight, 0.45}}},
    };
    return presets;
}

QString LayoutPreset::name() const {
    return QCoreApplication::translate(kContext, word);
}

QString LayoutPreset::what() const {
    return QCoreApplication::translate(kContext, line);
}

QStringList layoutPresetIds() {
    QStringList ids;
    for (const LayoutPreset& preset : layoutPresets()) ids << preset.id;
    return ids;
}

const LayoutPreset* layoutPreset(const QString& id) {
    const auto& presets = layoutPresets();
    const auto found = std::find_if(presets.begin(), presets.end(),
                                    [&](const LayoutPreset& each) { return each.id == id; });
    return found == presets.end() ? nullptr : &*found;
}

QStringList keptLayoutNames(const QString& file) {
    if (file.isEmpty()) return {};
    QSettings settings(file, QSettings::IniFormat);
    settings.beginGroup(u"layouts"_s);
    QStringList names;
    const QStringList groups = settings.childGroups();
    for (const QString& group : groups) names << QUrl::fromPercentEncoding(group.toLatin1());
    names.sort(Qt::CaseInsensitive);
    return names;
}

std::optional<PageLayout> keptLayout(const QString& file, const QString& name) {
    return read(file, keptUnder(name));
}

bool keepLayout(const QString& file, const QString& name, const PageLayout& layout) {
    return write(file, keptUnder(name), layout);
}

void forgetLayout(const QString& file, const QString& name) {
    if (!file.isEmpty()) QSettings(file, QSettings::IniFormat).remove(keptUnder(name));
}

std::optional<PageLayout> lastLayout(const QString& file) {
    return read(file, u"session/layout"_s);
}

void keepLastLayout(const QString& file, const PageLayout& layout) {
    write(file, u"session/layout"_s, layout);
}

}  // namespace shardscope::desktop

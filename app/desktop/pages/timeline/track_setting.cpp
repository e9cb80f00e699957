#include "app/desktop/pages/timeline/track_setting.h"

#include <QSettings>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr QLatin1StringView kApart{"timeline/apart"};

}  // namespace

bool readNested(const QString& file) {
    return file.isEmpty() || !QSettings(file, QSettings::IniFormat).value(kApart, false).toBool();
}

void writeNested(const QString& file, bool nested) {
    if (!file.isEmpty()) QSettings(file, QSettings::IniFormat).setValue(kApart, !nested);
}

}  // namespace shardscope::desktop

#include "app/desktop/models/targets.h"

#include "app/desktop/models/format.h"

#include <QSettings>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// `sign`: how the value lies to the target.
TargetVerdict verdict(bool passes, QChar sign, double target) {
    return {passes, u"%1 %2 %3"_s.arg(passes ? u"PASS"_s : u"FAIL"_s, sign,
                                      ValueText{formatNumber(target * 100, 2), u"%"_s}.joined())};
}

double share(const QSettings& settings, const QString& key, double otherwise) {
    bool isNumber = false;
    const double value = settings.value(key).toDouble(&isNumber);
    return isNumber && value > 0 && value <= 1 ? value : otherwise;
}

}  // namespace

QString unsureWord() {
    return QStringLiteral("UNSURE");
}

TargetVerdict atLeast(double value, double target) {
    return value >= target ? verdict(true, u'≥', target) : verdict(false, u'<', target);
}

TargetVerdict atMost(double value, double target) {
    return value <= target ? verdict(true, u'≤', target) : verdict(false, u'>', target);
}

Targets readTargets(const QString& file) {
    Targets targets;
    if (file.isEmpty()) return targets;
    const QSettings settings(file, QSettings::IniFormat);
    targets.mfu = share(settings, u"targets/mfu"_s, targets.mfu);
    targets.scaling = share(settings, u"targets/scaling"_s, targets.scaling);
    targets.communication = share(settings, u"targets/communication"_s, targets.communication);
    return targets;
}

void writeTargets(const QString& file, const Targets& targets) {
    if (file.isEmpty()) return;
    QSettings settings(file, QSettings::IniFormat);
    settings.setValue(u"targets/mfu"_s, targets.mfu);
    settings.setValue(u"targets/scaling"_s, targets.scaling);
    settings.setValue(u"targets/communication"_s, targets.communication);
}

}  // namespace shardscope::desktop

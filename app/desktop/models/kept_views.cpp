#include "app/desktop/models/kept_views.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>
#include <QUrl>
#include <algorithm>
#include <limits>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

QString toText(const View& view) {
    QJsonObject object{{u"page"_s, view.page}};
    if (const auto& range = view.selection.range)
        object[u"range"_s] =
            QJsonArray{static_cast<qint64>(range->begin.ns), static_cast<qint64>(range->end.ns)};
    if (const auto& steps = view.selection.steps)
        object[u"steps"_s] = QJsonArray{steps->first.value, steps->last.value};
    QJsonArray ranks;
    for (const RankId rank : view.selection.ranks) ranks.append(static_cast<qint64>(rank.value));
    if (!ranks.isEmpty()) object[u"ranks"_s] = ranks;
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

/// nullopt: nothing, or nothing that we wrote.
std::optional<View> viewOf(const QString& text) {
    const QJsonObject object = QJsonDocument::fromJson(text.toUtf8()).object();
    View view;
    view.page = object[u"page"_s].toString();
    if (view.page.isEmpty()) return std::nullopt;
    const QJsonArray range = object[u"range"_s].toArray(), steps = object[u"steps"_s].toArray();
    if (range.size() == 2 && range[0].toInteger() < range[1].toInteger())
        view.selection.range = TimeRange{{range[0].toInteger()}, {range[1].toInteger()}};
    else if (steps.size() == 2 && steps[0].toInt() <= steps[1].toInt())
        view.selection.steps = StepSpan{{steps[0].toInt()}, {steps[1].toInt()}};
    for (const auto& each : object[u"ranks"_s].toArray()) {
        const qint64 rank = each.toInteger(-1);
        if (rank >= 0 && rank <= std::numeric_limits<std::uint32_t>::max())
            view.selection.ranks.push_back(RankId{static_cast<std::uint32_t>(rank)});
    }
    auto& ranks = view.selection.ranks;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return view;
}

QString settingOf(const QString& key, int digit) {
    return u"views/%1/%2"_s.arg(QString::fromLatin1(QUrl::toPercentEncoding(key))).arg(digit);
}

}  // namespace

std::optional<View> keptView(const QString& file, const QString& key, int digit) {
    if (file.isEmpty()) return std::nullopt;
    const QSettings settings(file, QSettings::IniFormat);
    return viewOf(settings.value(settingOf(key, digit)).toString());
}

bool keepView(const QString& file, const QString& key, int digit, const View& view) {
    if (file.isEmpty()) return false;
    QSettings settings(file, QSettings::IniFormat);
    settings.setValue(settingOf(key, digit), toText(view));
    settings.sync();
    return settings.status() == QSettings::NoError;
}

bool fitTo(const OpenRecording& recording, Selection& selection) {
    const Selection before = selection;
    const RecordingSummary& summary = recording.summary;
    std::erase_if(selection.ranks, [&](RankId rank) {
        return std::none_of(summary.ranks.begin(), summary.ranks.end(),
                            [rank](const RankFacts& each) { return each.rank == rank; });
    });
    if (selection.range && !selection.range->intersects(recording.bounds()))
        selection.range.reset();
    if (selection.steps &&
        std::none_of(summary.steps.begin(), summary.steps.end(),
                     [&](const StepFacts& each) { return selection.steps->contains(each.step); }))
        selection.steps.reset();
    return selection != before;
}

std::optional<LastSession> lastSession(const QString& file) {
    if (file.isEmpty()) return std::nullopt;
    const QSettings settings(file, QSettings::IniFormat);
    const QString address = settings.value(u"session/address"_s).toString();
    const auto view = viewOf(settings.value(u"session/view"_s).toString());
    if (address.isEmpty() || !view) return std::nullopt;
    return LastSession{address, settings.value(u"session/name"_s).toString(),
                       settings.value(u"session/what"_s).toString(), *view};
}

void keepSession(const QString& file, const LastSession& session) {
    if (file.isEmpty()) return;
    QSettings settings(file, QSettings::IniFormat);
    settings.setValue(u"session/address"_s, session.address);
    settings.setValue(u"session/name"_s, session.name);
    settings.setValue(u"session/what"_s, session.what);
    settings.setValue(u"session/view"_s, toText(session.view));
}

}  // namespace shardscope::desktop

#include "app/desktop/models/csv_text.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/problems/problems_model.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::CheckState;

QString stateWord(CheckState state) {
    return QString::fromLatin1(toWord(state));
}
QString severityWord(Severity severity) {
    return QString::fromLatin1(toWord(severity));
}

QString ranksText(const Selection& evidence) {
    QStringList ranks;
    for (const RankId rank : evidence.ranks) ranks << QString::number(rank.value);
    return ranks.join(u' ');
}

QString asCsv(const ProblemsView& view) {
    QString text = csvLine({u"severity"_s, u"about"_s, u"code"_s, u"count"_s, u"what"_s,
                            u"detail"_s, u"consequence"_s, u"remedy"_s, u"ranks"_s});
    for (const Finding& each : view.findings)
        text += csvLine({severityWord(each.severity), QString::fromLatin1(toWord(each.topic)),
                         each.code, QString::number(each.count), each.title, each.detail,
                         each.consequence, each.remedy, ranksText(each.evidence)});
    text += u"\r\n"_s + csvLine({u"check"_s, u"state"_s, u"found"_s});
    for (const CheckRow& each : view.checks)
        text += csvLine({each.what, stateWord(each.state), each.found});
    return text;
}

QString asMarkdown(const ProblemsView& view, const SelectedPart& part) {
    QString text = u"# %1\n\n%2 %3\n"_s.arg(part.recording->label(), problemsHeadline(view, part),
                                            problemsSubline(view, part));
    for (const ProblemGroup& group : problemGroups(view.findings, ProblemFilter::kEverything)) {
        text += u"\n## %1\n\n"_s.arg(group.title);
        for (const Finding& each : group.findings) {
            text += u"- **%1**: %2"_s.arg(severityWord(each.severity), each.title);
            if (each.count > 1) text += u" (count %1)"_s.arg(formatCount(each.count));
            if (const QString words = each.words(); !words.isEmpty()) text += u"\n  "_s + words;
            text += u'\n';
        }
    }
    text += u"\n## What was checked\n\n"_s;
    for (const CheckRow& each : view.checks)
        text += u"- %1: **%2**, %3\n"_s.arg(each.what, stateWord(each.state), each.found);
    return text;
}

QJsonObject asObject(const Finding& each) {
    QJsonArray ranks;
    for (const RankId rank : each.evidence.ranks) ranks.append(static_cast<qint64>(rank.value));
    return {{u"severity"_s, severityWord(each.severity)},
            {u"about"_s, QString::fromLatin1(toWord(each.topic))},
            {u"code"_s, each.code},
            {u"count"_s, static_cast<qint64>(each.count)},
            {u"title"_s, each.title},
            {u"detail"_s, each.detail},
            {u"consequence"_s, each.consequence},
            {u"remedy"_s, each.remedy},
            {u"ranks"_s, ranks}};
}

QString asJson(const ProblemsView& view, const SelectedPart& part) {
    QJsonArray notices, checks;
    for (const Finding& each : view.findings) notices.append(asObject(each));
    for (const CheckRow& each : view.checks)
        checks.append(QJsonObject{
            {u"what"_s, each.what}, {u"state"_s, stateWord(each.state)}, {u"found"_s, each.found}});
    const QJsonObject all{{u"schema"_s, u"shardscope.problems/1"_s},
                          {u"recording"_s, part.recording->address()},
                          {u"for_action"_s, problemCount(view.findings)},
                          {u"notices"_s, notices},
                          {u"checks"_s, checks}};
    return QString::fromUtf8(QJsonDocument(all).toJson());
}

}  // namespace

QString exportedProblems(const ProblemsView& view, const SelectedPart& part, ProblemFormat format) {
    switch (format) {
        case ProblemFormat::kMarkdown:
            return asMarkdown(view, part);
        case ProblemFormat::kCsv:
            return asCsv(view);
        case ProblemFormat::kJson:
            return asJson(view, part);
    }
    return {};
}

}  // namespace shardscope::desktop

#include "app/desktop/pages/problems/problems_model.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/table_model.h"
#include "storage/model/plain_text.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QObject>
#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::CheckState;
using analysis::NoticeTopic;

bool passes(const Finding& finding, ProblemFilter filter) {
    switch (filter) {
        case ProblemFilter::kEverything:
            return true;
        case ProblemFilter::kForAction:
            return finding.severity != Severity::kNote;
        case ProblemFilter::kProblems:
            return finding.severity == Severity::kProblem;
        case ProblemFilter::kWarnings:
            return finding.severity == Severity::kWarning;
        case ProblemFilter::kNotes:
            return finding.severity == Severity::kNote;
        case ProblemFilter::kUnknown:
            return false;
    }
    return false;
}

QString counted(std::int64_t count, const QString& one, const QString& more) {
    return u"%1 %2"_s.arg(formatCount(count), count == 1 ? one : more);
}

std::int64_t countOf(const std::vector<Finding>& findings, Severity severity) {
    return std::count_if(findings.begin(), findings.end(),
                         [severity](const Finding& each) { return each.severity == severity; });
}

std::int64_t countOf(const std::vector<CheckRow>& checks, CheckState state) {
    return std::count_if(checks.begin(), checks.end(),
                         [state](const CheckRow& each) { return each.state == state; });
}

/// Of the question's table, which has texts alone.
void addTrust(const questions::Answer& trust, std::vector<CheckRow>& checks) {
    const questions::Table* table = findTable(trust, "checks");
    if (table == nullptr) return;
    const auto textAt = [table](const auto& row, const char* key) {
        const std::string* text = row[table->columnAt(key)].text();
        return text != nullptr ? *text : std::string();
    };
    for (const auto& row : table->rows)
        checks.push_back({fromUtf8(textAt(row, "what")),
                          fromWord<CheckState>(textAt(row, "state")).value_or(CheckState::kUnknown),
                          fromUtf8(textAt(row, "found"))});
}

/// What rules looked at, and what they could not.
void addRules(const analysis::Report& report, std::vector<CheckRow>& checks) {
    const auto found = static_cast<std::int64_t>(report.findings.size());
    const bool alarming =
        std::any_of(report.findings.begin(), report.findings.end(),
                    [](const auto& each) { return each.severity != Severity::kNote; });
    const QString what = u"how the run went"_s;
    const RunStatus status = report.run.status;
    if (status == RunStatus::kFailed || status == RunStatus::kKilled)
        checks.push_back(
            {what, CheckState::kProblem,
             u"the run %1"_s.arg(status == RunStatus::kFailed ? u"failed"_s : u"was killed"_s)});
    else if (found > 0)
        checks.push_back({what, alarming ? CheckState::kProblem : CheckState::kFine,
                          counted(found, u"finding"_s, u"findings"_s)});
    else if (report.judged.enough)
        checks.push_back({what, CheckState::kFine,
                          u"nothing stands out in %1"_s.arg(
                              counted(report.basis.detailed, u"step"_s, u"steps"_s))});
    for (const std::string& unknown : report.judged.unknown) {
        // "late ranks: 1 of 2 ranks are recorded"
        const QString text = fromUtf8(unknown);
        const qsizetype colon = text.indexOf(u": "_s);
        checks.push_back({colon > 0 ? text.left(colon) : what, CheckState::kUnknown,
                          colon > 0 ? text.mid(colon + 2) : text});
    }
}

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

QString markdown(const QString& sentence) {
    return QString::fromStdString(markdownSentence(sentence.toStdString()));
}

QString asMarkdown(const ProblemsView& view, const SelectedPart& part) {
    QString text = u"# %1\n\n%2 %3\n"_s.arg(markdown(part.recording->label()),
                                            markdown(problemsHeadline(view, part)),
                                            markdown(problemsSubline(view, part)));
    for (const ProblemGroup& group : problemGroups(view.findings, ProblemFilter::kEverything)) {
        text += u"\n## %1\n\n"_s.arg(group.title);
        for (const Finding& each : group.findings) {
            text += u"- **%1**: %2"_s.arg(severityWord(each.severity), markdown(each.title));
            if (each.count > 1) text += u" (count %1)"_s.arg(formatCount(each.count));
            if (const QString words = each.words(); !words.isEmpty())
                text += u"\n  "_s + markdown(words);
            text += u'\n';
        }
    }
    text += u"\n## What was checked\n\n"_s;
    for (const CheckRow& each : view.checks)
        text += u"- %1: **%2**, %3\n"_s.arg(markdown(each.what), stateWord(each.state),
                                            markdown(each.found));
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

QStringList problemFilterNames() {
    return {QObject::tr("Everything"), QObject::tr("Problems and warnings"),
            QObject::tr("Problems"),   QObject::tr("Warnings"),
            QObject::tr("Notes"),      QObject::tr("Unknown")};
}

ProblemsView problemsView(const SelectedPart& part, const questions::Answer* trust) {
    ProblemsView view{findings(part), {}};
    if (trust != nullptr) addTrust(*trust, view.checks);
    addRules(*part.report, view.checks);
    return view;
}

QString problemsHeadline(const ProblemsView& view, const SelectedPart& part) {
    if (!part.refusal.isEmpty())
        return u"Nothing to show for this selection: %1."_s.arg(part.refusal);
    const int forAction = problemCount(view.findings);
    const auto all = static_cast<std::int64_t>(view.findings.size());
    const QString of = part.selection.isEverything() ? QString() : u" in the selection"_s;
    if (forAction == 0)
        return u"No problems%1: %2 of %3 passed, %4 unknown."_s.arg(
            of, formatCount(countOf(view.checks, CheckState::kFine)),
            counted(static_cast<std::int64_t>(view.checks.size()), u"check"_s, u"checks"_s),
            formatCount(countOf(view.checks, CheckState::kUnknown)));
    return u"%1 of %2%3 %4 for action: %5, %6."_s.arg(
        formatCount(forAction), counted(all, u"notice"_s, u"notices"_s), of,
        forAction == 1 ? u"asks"_s : u"ask"_s,
        counted(countOf(view.findings, Severity::kProblem), u"problem"_s, u"problems"_s),
        counted(countOf(view.findings, Severity::kWarning), u"warning"_s, u"warnings"_s));
}

QString problemsSubline(const ProblemsView& view, const SelectedPart& part) {
    if (!part.refusal.isEmpty()) return {};
    const QString notes = counted(countOf(view.findings, Severity::kNote), u"note"_s, u"notes"_s);
    if (problemCount(view.findings) == 0) return u"No problem, no warning, %1."_s.arg(notes);
    const auto problems = countOf(view.checks, CheckState::kProblem);
    return u"%1 besides. Of %2, %3 passed, %4 failed, %5 unknown."_s.arg(
        notes, counted(static_cast<std::int64_t>(view.checks.size()), u"check"_s, u"checks"_s),
        counted(countOf(view.checks, CheckState::kFine), u"is"_s, u"are"_s),
        counted(problems, u"is"_s, u"are"_s),
        formatCount(countOf(view.checks, CheckState::kUnknown)));
}

std::vector<ProblemGroup> problemGroups(const std::vector<Finding>& findings,
                                        ProblemFilter filter) {
    std::vector<ProblemGroup> groups;
    for (const NoticeTopic topic : kAll<NoticeTopic>) {
        QString title = QString::fromLatin1(toWord(topic));
        title[0] = title[0].toUpper();
        ProblemGroup group{title, {}};
        for (const Finding& each : findings)
            if (each.topic == topic && passes(each, filter)) group.findings.push_back(each);
        if (!group.findings.empty()) groups.push_back(std::move(group));
    }
    return groups;
}

std::vector<CheckRow> checksOf(const ProblemsView& view, ProblemFilter filter) {
    if (filter == ProblemFilter::kEverything) return view.checks;
    std::vector<CheckRow> left;
    for (const CheckRow& each : view.checks) {
        const bool wanted =
            filter == ProblemFilter::kUnknown
                ? each.state == CheckState::kUnknown
                : (filter == ProblemFilter::kForAction || filter == ProblemFilter::kProblems) &&
                      each.state == CheckState::kProblem;
        if (wanted) left.push_back(each);
    }
    return left;
}

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

#include "app/desktop/pages/newrun/tuning_session.h"

#include "app/desktop/models/write_file.h"
#include "engine/run/config/run_file.h"
#include "profiler/questions/plan_tables.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Of what it said last, for a failure.
constexpr qsizetype kMostWords = 4000;
constexpr int kPatienceMs = 5000;

questions::Cell cellOf(const QJsonValue& value) {
    if (value.isDouble()) return value.toDouble();
    if (value.isString()) return value.toString().toStdString();
    return {};
}

questions::Table pathOf(const QJsonArray& rows) {
    questions::Table table = questions::tunePathTable();
    for (const auto& each : rows) {
        const QJsonObject row = each.toObject();
        std::vector<questions::Cell> cells;
        for (const questions::Column& column : table.columns)
            cells.push_back(cellOf(row[QLatin1StringView(column.key)]));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

/// In a folder of tune's, where that of an earlier time may be replaced.
Result<void> writeRunFile(const run::RunConfig& config, const QString& path) {
    return writeFile(
        {systemPath(path), true, {"a run file that Shardscope wrote", run::isSavedRunFile}},
        QByteArray::fromStdString(run::toToml(config)));
}

}  // namespace

std::optional<TuningProgress> parseTuningProgress(const QString& line) {
    static const QRegularExpression kLine(u"^\\[(\\d+)(?:/(\\d+))?\\] (.*) \\.\\.\\.$"_s);
    const auto match = kLine.match(line.trimmed());
    if (!match.hasMatch()) return std::nullopt;
    return TuningProgress{match.captured(1).toInt(), match.captured(2).toInt(), match.captured(3)};
}

std::optional<TuningOutcome> parseTuning(const QByteArray& json) {
    const QJsonObject document = QJsonDocument::fromJson(json).object();
    if (document[u"schema"].toString() != QLatin1StringView(questions::kTuneSchema))
        return std::nullopt;
    TuningOutcome outcome;
    for (const char* key : {"sentences", "could_not_tell"})
        for (const auto& each : document[QLatin1StringView(key)].toArray())
            outcome.sentences.append(each.toString());
    outcome.path = pathOf(document[u"path"].toArray());
    const QString file = document[u"run_file"].toString();
    if (file.isEmpty()) return outcome;
    if (auto best = run::readRunFile(file.toStdString(), {}, [](std::string_view) { return true; }))
        outcome.best = std::move(*best);
    return outcome;
}

TuningSession::TuningSession(QObject* parent) : QObject(parent) {
    connect(&m_process, &QProcess::finished, this, &TuningSession::ended);
    connect(&m_process, &QProcess::readyReadStandardError, this, &TuningSession::readErrors);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        fail(tr("%1 cannot be started: %2").arg(m_process.program(), m_process.errorString()));
    });
}

/// Its ranks end with it.
TuningSession::~TuningSession() {
    m_process.disconnect(this);
    if (!isGoing()) return;
    m_process.terminate();
    if (m_process.waitForFinished(kPatienceMs)) return;
    m_process.kill();
    m_process.waitForFinished(kPatienceMs);
}

void TuningSession::start(const QString& program, const TuningRequest& request) {
    if (isGoing()) return;
    m_folder = request.folder;
    m_lastWords.clear();
    m_cancelled = false;
    if (!QDir().mkpath(m_folder))
        return fail(tr("The folder %1 cannot be made; choose another.").arg(m_folder));
    const QString file = QDir(m_folder).filePath(u"start.toml"_s);
    if (const auto written = writeRunFile(request.start, file); !written)
        return fail(QString::fromStdString(written.error().message));
    QStringList words{u"tune"_s,
                      file,
                      u"--json"_s,
                      u"--over"_s,
                      request.over.join(u","_s),
                      u"--budget"_s,
                      u"%1m"_s.arg(request.minutes),
                      u"--output"_s,
                      m_folder};
    // The form has said it, which is its user's own.
    const bool hostFile = QFileInfo(QString::fromStdString(request.start.hosts)).isFile();
    if (hostFile || !run::commandsOf(request.start).empty()) words << u"--allow-commands"_s;
    m_process.start(program, words, QProcess::ReadOnly);
    Q_EMIT stateChanged();
}

void TuningSession::cancel() {
    if (!isGoing()) return;
    m_cancelled = true;
    m_process.terminate();
    Q_EMIT stateChanged();
}

void TuningSession::readErrors() {
    m_process.setReadChannel(QProcess::StandardError);
    while (m_process.canReadLine()) {
        const QByteArray line = m_process.readLine();
        if (const auto progress = parseTuningProgress(QString::fromUtf8(line)))
            Q_EMIT progressed(*progress);
        else
            m_lastWords = (m_lastWords + line).right(kMostWords);
    }
}

void TuningSession::ended(int code, QProcess::ExitStatus) {
    readErrors();
    m_lastWords += m_process.readAllStandardError();
    auto outcome = parseTuning(m_process.readAllStandardOutput());
    if (outcome) {
        outcome->folder = m_folder;
        outcome->interrupted = code != 0;
        Q_EMIT stateChanged();
        return Q_EMIT finished(*outcome);
    }
    const QString words = QString::fromUtf8(m_lastWords).trimmed();
    if (m_cancelled) return fail(tr("Cancelled before the first run was measured."));
    fail(words.isEmpty() ? tr("The settings could not be tuned.") : words);
}

void TuningSession::fail(const QString& why) {
    Q_EMIT stateChanged();
    Q_EMIT failed(why);
}

}  // namespace shardscope::desktop

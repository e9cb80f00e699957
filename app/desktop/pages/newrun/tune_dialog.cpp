#include "app/desktop/pages/newrun/tune_dialog.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/write_file.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_file.h"
#include "engine/run/config/run_option.h"
#include "engine/run/config/run_rules.h"
#include "profiler/questions/plan_tables.h"

#include <QCheckBox>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr QSize kSize{780, 620};
constexpr int kColumns = 2, kMostMinutes = 24 * 60;

/// What people tune, and whether it is chosen at first: the batch changes what is trained.
struct Offer {
    const char* key;
    bool chosen;
};
constexpr std::array kOffers{Offer{"strategy", true},  Offer{"prefetch", true},
                             Offer{"bucket_mb", true}, Offer{"recompute_every", false},
                             Offer{"batch", false},    Offer{"accumulate", false}};

/// Runs in their order, their settings named as on the form.
AnswerTable pathOf(questions::Table path) {
    for (std::vector<questions::Cell>& row : path.rows)
        if (const std::string* settings = row.front().text())
            row.front() = withFormNames(QString::fromStdString(*settings)).toStdString();
    return answerTable(path);
}

/// Of what it said last, for a failure.
constexpr qsizetype kMostWords = 4000;

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

TuneDialog::TuneDialog(run::RunConfig start, QString program, QString folder, QWidget* parent)
    : QDialog(parent),
      m_start(std::move(start)),
      m_program(std::move(program)),
      m_folder(std::move(folder)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Tune"));
    setAccessibleName(tr("Tune the run's settings"));
    resize(kSize.boundedTo(parent == nullptr ? kSize : parent->window()->size()));
    buildUp();
    connect(&m_session, &TuningSession::stateChanged, this, &TuneDialog::showState);
    connect(&m_session, &TuningSession::progressed, this, &TuneDialog::showProgress);
    connect(&m_session, &TuningSession::finished, this, &TuneDialog::showOutcome);
    connect(&m_session, &TuningSession::failed, this, [this](const QString& why) {
        m_state->setText(inFormWords(why));
        if (m_cancelling) QDialog::reject();
    });
    showState();
}

void TuneDialog::buildUp() {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGapGroup, kGapPage, kGapGroup);
    layout->setSpacing(kGap);
    layout->addWidget(
        quietLabel(tr("Finds the settings with the most tokens per second: a first short run "
                      "measures compute and link, and the settings with the best forecasts from it "
                      "are run too. Settings that need more memory than is free are left out. The "
                      "runs are recorded."),
                   this));
    layout->addWidget(buildChoices());
    layout->addWidget(hairline(this));
    m_state = new QLabel(this);
    m_state->setWordWrap(true);
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_state->setAccessibleName(tr("Progress of the tuning"));
    m_progress = new QProgressBar(this);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Runs that are measured"));
    m_path = new DataTable(tr("Runs in their order"), this);
    layout->addWidget(m_state);
    layout->addWidget(m_progress);
    layout->addWidget(m_path, 1);
    layout->addWidget(hairline(this));
    m_begin = new QPushButton(tr("Tune"), this);
    m_take = new QPushButton(tr("Take these settings"), this);
    m_close = new QPushButton(tr("Close"), this);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(kGap);
    buttons->addStretch();
    for (QPushButton* button : {m_close, m_begin, m_take}) buttons->addWidget(button);
    layout->addLayout(buttons);
    connect(m_begin, &QPushButton::clicked, this, &TuneDialog::begin);
    connect(m_close, &QPushButton::clicked, this, &TuneDialog::reject);
    connect(m_take, &QPushButton::clicked, this, [this] {
        Q_EMIT taken(*m_outcome.best);
        accept();
    });
}

QWidget* TuneDialog::buildChoices() {
    auto* choices = new QWidget(this);
    auto* grid = new QGridLayout(choices);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setSpacing(kGapSmall);
    int place = 0;
    for (const Offer& offer : kOffers) {
        const run::RunOption& option = *run::findRunOption(offer.key);
        auto* box = new QCheckBox(nameOf(option), choices);
        box->setObjectName(QLatin1StringView(offer.key));
        box->setToolTip(helpOf(option));
        box->setChecked(offer.chosen);
        connect(box, &QCheckBox::toggled, this, &TuneDialog::showState);
        grid->addWidget(box, place / kColumns, place % kColumns);
        m_over.push_back(box);
        ++place;
    }
    m_minutes = new QSpinBox(choices);
    m_minutes->setRange(1, kMostMinutes);
    m_minutes->setValue(5);
    m_minutes->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_minutes->setSuffix(tr(" min"));
    m_minutes->setAccessibleName(tr("Time after which no new run is started"));
    auto* time = new QHBoxLayout;
    time->addWidget(new QLabel(tr("Start no new run after"), choices));
    time->addWidget(m_minutes);
    time->addStretch();
    grid->addLayout(time, (place + 1) / kColumns, 0, 1, kColumns);
    return choices;
}

QStringList TuneDialog::over() const {
    QStringList keys;
    for (const QCheckBox* box : m_over)
        if (box->isChecked()) keys << box->objectName();
    return keys;
}

void TuneDialog::begin() {
    const QString moment = QDateTime::currentDateTime().toString(u"yyyyMMdd-HHmmss"_s);
    m_outcome = {};
    m_path->setTable({}, {});
    m_progress->setRange(0, 0);
    m_session.start(m_program, {m_start, over(), m_minutes->value(),
                                QDir(m_folder).filePath(u"tune-"_s + moment)});
}

void TuneDialog::reject() {
    if (!m_session.isGoing()) return QDialog::reject();
    m_cancelling = true;
    m_session.cancel();
    m_state->setText(tr("Ending the run that is measured…"));
}

void TuneDialog::showState() {
    const bool going = m_session.isGoing();
    const bool found = m_outcome.best.has_value();
    for (QCheckBox* box : m_over) box->setEnabled(!going);
    m_minutes->setEnabled(!going);
    m_progress->setVisible(going);
    m_begin->setVisible(!found);
    m_begin->setEnabled(!going && !over().isEmpty());
    m_begin->setToolTip(over().isEmpty() ? tr("Choose what to tune over") : QString());
    m_take->setVisible(found);
    m_close->setText(going ? tr("Cancel") : tr("Close"));
    m_close->setEnabled(!going || !m_cancelling);
    for (QPushButton* button : {m_begin, m_take}) button->setProperty("primary", true);
    if (going && !m_cancelling) m_state->setText(tr("Starting…"));
}

void TuneDialog::showProgress(const TuningProgress& progress) {
    if (m_cancelling) return;
    const bool first = progress.most == 0;
    m_progress->setRange(0, progress.most);
    m_progress->setValue(progress.run - 1);
    m_state->setText(first ? tr("The first run, as the form has it")
                           : tr("Run %1 of at most %2: %3")
                                 .arg(progress.run)
                                 .arg(progress.most)
                                 .arg(withFormNames(progress.settings)));
}

/// What there is of one that was cancelled is shown like the rest.
void TuneDialog::showOutcome(const TuningOutcome& outcome) {
    m_cancelling = false;
    m_outcome = outcome;
    QStringList sentences;
    for (const QString& each : outcome.sentences) sentences << inFormWords(each);
    if (outcome.interrupted) sentences << tr("It was stopped before all settings were tried.");
    sentences << tr("Recordings are in %1.").arg(outcome.folder);
    AnswerTable table = pathOf(outcome.path);
    m_path->setTable(std::move(table.columns), std::move(table.rows));
    showState();
    m_state->setText(sentences.join(u'\n'));
    m_take->setFocus();
}

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
    connect(&m_program, &ProgramSession::said, this, &TuningSession::hear);
    connect(&m_program, &ProgramSession::ended, this, &TuningSession::conclude);
    connect(&m_program, &ProgramSession::failed, this, &TuningSession::failed);
    connect(&m_program, &ProgramSession::stateChanged, this, &TuningSession::stateChanged);
}

void TuningSession::start(const QString& program, const TuningRequest& request) {
    if (isGoing()) return;
    m_folder = request.folder;
    m_lastWords.clear();
    if (!QDir().mkpath(m_folder))
        return Q_EMIT failed(tr("The folder %1 cannot be made; choose another.").arg(m_folder));
    const QString file = QDir(m_folder).filePath(u"start.toml"_s);
    if (const auto written = writeRunFile(request.start, file); !written)
        return Q_EMIT failed(QString::fromStdString(written.error().message));
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
    m_program.start(program, words);
}

void TuningSession::hear(const QString& line) {
    if (const auto progress = parseTuningProgress(line)) return Q_EMIT progressed(*progress);
    m_lastWords = (m_lastWords + line + u'\n').right(kMostWords);
}

void TuningSession::conclude(int code, const QByteArray& printed) {
    if (auto outcome = parseTuning(printed)) {
        outcome->folder = m_folder;
        outcome->interrupted = code != 0;
        return Q_EMIT finished(*outcome);
    }
    const QString words = m_lastWords.trimmed();
    if (m_program.isCancelled())
        return Q_EMIT failed(tr("Cancelled before the first run was measured."));
    Q_EMIT failed(words.isEmpty() ? tr("The settings could not be tuned.") : words);
}

}  // namespace shardscope::desktop

#include "app/desktop/pages/newrun/tune_dialog.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_option.h"
#include "engine/run/config/run_rules.h"

#include <QCheckBox>
#include <QDateTime>
#include <QDir>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
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
        quietLabel(tr("Looks for the settings with the most tokens per second: a first short run "
                      "says how fast ranks compute and what joins them, and what forecasts from it "
                      "promise most is run too. What needs more memory than is free is left out. "
                      "The runs are recorded."),
                   this));
    layout->addWidget(buildChoices());
    layout->addWidget(hairline(this));
    m_state = new QLabel(this);
    m_state->setWordWrap(true);
    m_state->setTextFormat(Qt::PlainText);
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_state->setAccessibleName(tr("What it has come to"));
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
    m_minutes->setAccessibleName(tr("Time after which no run is begun"));
    auto* time = new QHBoxLayout;
    time->addWidget(new QLabel(tr("Begin no run after"), choices));
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
    if (outcome.interrupted) sentences << tr("It was ended before it had looked at all.");
    sentences << tr("Recordings are in %1.").arg(outcome.folder);
    AnswerTable table = pathOf(outcome.path);
    m_path->setTable(std::move(table.columns), std::move(table.rows));
    showState();
    m_state->setText(sentences.join(u'\n'));
    m_take->setFocus();
}

}  // namespace shardscope::desktop

#include "app/desktop/pages/plan/calibrate_dialog.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "profiler/planning/calibration_store.h"
#include "profiler/questions/answer/calibration_answer.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <cstddef>
#include <ctime>
#include <initializer_list>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr QSize kSize{860, 640};
constexpr int kMostRanks = 64;
constexpr int kSecondMs = 1000;
constexpr qsizetype kMostWords = 20;

/// A column that fits into the dialog with the others.
struct Shown {
    const char* key;
    int width;
};

void showTable(DataTable& table, const questions::Table& shown,
               std::initializer_list<Shown> columns) {
    table.setVisible(!shown.rows.empty());
    std::vector<const char*> keys;
    for (const Shown& column : columns) keys.push_back(column.key);
    AnswerTable made = answerTable(shown, 0, keys);
    std::size_t at = 0;
    if (made.columns.size() == columns.size())
        for (const Shown& column : columns) made.columns[at++].minimumWidth = column.width;
    table.setTable(std::move(made.columns), std::move(made.rows));
}

}  // namespace

std::optional<planning::Calibration> calibrationOf(const MachineFacts& machine) {
    auto found = planning::findCalibration(machine.name.toStdString(), run::Device::kCpu);
    return found ? std::move(*found) : std::nullopt;
}

CalibrateDialog::CalibrateDialog(const MachineFacts& machine, int ranks, QString program,
                                 QWidget* parent)
    : QDialog(parent), m_path(std::move(program)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Calibrate this machine"));
    setAccessibleName(tr("Calibrate this machine"));
    resize(kSize.boundedTo(parent == nullptr ? kSize : parent->window()->size()));
    buildUp(std::clamp(ranks, 1, std::clamp(machine.cores, 1, kMostRanks)));
    m_second.setInterval(kSecondMs);
    connect(&m_second, &QTimer::timeout, this, &CalibrateDialog::showProgress);
    connect(&m_program, &ProgramSession::stateChanged, this, &CalibrateDialog::showState);
    connect(&m_program, &ProgramSession::said, this, &CalibrateDialog::hear);
    connect(&m_program, &ProgramSession::ended, this, &CalibrateDialog::conclude);
    connect(&m_program, &ProgramSession::failed, m_state, &QLabel::setText);
    showState();
    m_found->hide();
    if (const auto kept = calibrationOf(machine))
        showCalibration(*kept, {});
    else
        m_state->setText(tr("%1 was never calibrated for CPU.").arg(machine.name));
}

void CalibrateDialog::buildUp(int ranks) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGapGroup, kGapPage, kGapGroup);
    layout->setSpacing(kGap);
    layout->addWidget(quietLabel(
        tr("Measures what this machine's CPU does: matrix products, memory, launches, and "
           "collectives between ranks. Plans then say how long steps take here, and MFU goes by "
           "the best product. Leave the machine to it meanwhile."),
        this));
    layout->addWidget(buildChoices(ranks));
    layout->addWidget(hairline(this));
    m_state = new QLabel(this);
    m_state->setWordWrap(true);
    m_state->setTextFormat(Qt::PlainText);
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_state->setAccessibleName(tr("Progress of the calibration"));
    m_progress = new QProgressBar(this);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Measurements that are done"));
    m_found = new QWidget(this);
    auto* tables = plainLayout(m_found);
    m_rates = new DataTable(tr("This machine"), m_found);
    m_collectives = new DataTable(tr("Collectives"), m_found);
    m_collectivesTitle = sectionLabel(tr("Collectives"), m_found);
    tables->addWidget(sectionLabel(tr("This machine"), m_found));
    tables->addWidget(m_rates, 1);
    tables->addWidget(m_collectivesTitle);
    tables->addWidget(m_collectives, 1);
    layout->addWidget(m_state);
    layout->addWidget(m_progress);
    layout->addWidget(m_found, 1);
    layout->addStretch();
    layout->addWidget(hairline(this));
    m_begin = new QPushButton(tr("Calibrate"), this);
    m_begin->setProperty("primary", true);
    m_close = new QPushButton(tr("Close"), this);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(kGap);
    buttons->addStretch();
    for (QPushButton* button : {m_close, m_begin}) buttons->addWidget(button);
    layout->addLayout(buttons);
    connect(m_begin, &QPushButton::clicked, this, &CalibrateDialog::begin);
    connect(m_close, &QPushButton::clicked, this, &CalibrateDialog::reject);
}

QWidget* CalibrateDialog::buildChoices(int ranks) {
    m_ranks = new QSpinBox(this);
    m_ranks->setRange(1, kMostRanks);
    m_ranks->setValue(ranks);
    m_ranks->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_ranks->setAccessibleName(tr("Ranks"));
    m_ranks->setToolTip(
        tr("Between which collectives are measured; what is kept of other numbers "
           "of ranks stays"));
    m_quick = new QCheckBox(tr("Quick: about 4 s instead of 30 s, with wider intervals"), this);
    auto* label = new QLabel(tr("Ranks"), this);
    label->setBuddy(m_ranks);
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    for (QWidget* each : {static_cast<QWidget*>(label), static_cast<QWidget*>(m_ranks),
                          static_cast<QWidget*>(m_quick)})
        row->addWidget(each);
    row->addStretch();
    return plainBlock(row, this);
}

void CalibrateDialog::begin() {
    m_words.clear();
    m_at = {};
    m_progress->setRange(0, 0);
    m_since.start();
    if (m_path.isEmpty())
        return m_state->setText(
            tr("The program shardscope is neither beside shardscope-desktop nor in PATH; install "
               "it or add its folder to PATH."));
    QStringList words{u"calibrate"_s, u"--json"_s, u"--ranks"_s, QString::number(m_ranks->value())};
    if (m_quick->isChecked()) words << u"--quick"_s;
    m_program.start(m_path, words);
}

void CalibrateDialog::reject() {
    if (!isGoing()) return QDialog::reject();
    m_program.cancel();
}

void CalibrateDialog::showState() {
    const bool going = isGoing();
    for (QWidget* each : {static_cast<QWidget*>(m_ranks), static_cast<QWidget*>(m_quick),
                          static_cast<QWidget*>(m_begin)})
        each->setEnabled(!going);
    m_progress->setVisible(going);
    m_close->setText(going ? tr("Cancel") : tr("Close"));
    m_close->setEnabled(!going || !m_program.isCancelled());
    if (!going) return m_second.stop();
    m_second.start();
    showProgress();
}

/// "Measuring the machine (1 of 2): 3 s"
void CalibrateDialog::showProgress() {
    if (m_program.isCancelled()) return m_state->setText(tr("Ending the measurement…"));
    if (m_at.subject.empty()) return m_state->setText(tr("Starting…"));
    // in the midst of it: how far is not known
    m_progress->setRange(0, 2 * m_at.runs);
    m_progress->setValue(2 * m_at.run - 1);
    m_state->setText(tr("Measuring %1 (%2 of %3): %4 s so far")
                         .arg(fromUtf8(m_at.subject), QString::number(m_at.run),
                              QString::number(m_at.runs),
                              QString::number(m_since.elapsed() / kSecondMs)));
}

void CalibrateDialog::hear(const QString& line) {
    if (auto progress = planning::parseCalibrationProgress(line.toStdString())) {
        m_at = std::move(*progress);
        return showProgress();
    }
    QString sentence = line;
    if (sentence.startsWith(u"shardscope: "_s)) sentence.remove(0, 12);
    if (!sentence.isEmpty() && m_words.size() < kMostWords) m_words << sentence;
}

void CalibrateDialog::conclude(int code, const QByteArray& printed) {
    const auto found = planning::parseCalibration(printed.toStdString());
    if (found) {
        showCalibration(*found, m_words.join(u'\n'));
        if (code == 0) Q_EMIT calibrated();
        return;
    }
    if (m_program.isCancelled()) {
        m_state->setText(m_words.isEmpty() ? tr("Cancelled: nothing was measured.")
                                           : m_words.join(u'\n'));
        return;
    }
    m_state->setText(m_words.isEmpty()
                         ? tr("The machine could not be measured (exit status %1).").arg(code)
                         : m_words.join(u'\n'));
}

void CalibrateDialog::showCalibration(const planning::Calibration& calibration,
                                      const QString& said) {
    const questions::Answer answer = questions::calibrationAnswer(calibration, std::time(nullptr));
    QStringList sentences;
    for (const std::string& each : answer.sentences) sentences << fromUtf8(each);
    if (!said.isEmpty()) sentences << said;
    m_state->setText(sentences.join(u'\n'));
    m_found->show();
    showTable(*m_rates, *findTable(answer, "rates"),
              {{"figure", 270}, {"best", 110}, {"median", 110}, {"interval", 210}});
    showTable(*m_collectives, *findTable(answer, "collectives"),
              {{"ranks", 180},
               {"operation", 120},
               {"alpha", 90},
               {"bandwidth", 110},
               {"bus", 110},
               {"sizes", 140}});
    m_collectivesTitle->setVisible(!calibration.collectives.empty());
}

}  // namespace shardscope::desktop

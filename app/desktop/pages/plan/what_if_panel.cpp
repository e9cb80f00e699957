#include "app/desktop/pages/plan/what_if_panel.h"

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/text_label.h"
#include "profiler/questions/question.h"
#include "profiler/questions/scenarios.h"
#include "storage/model/rank_facts.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kLeastTimes = 0.01, kMostTimes = 1000, kUsualTimes = 2;
constexpr std::size_t kMostUnknown = 3;

/// `what`: empty at first, then what can be faster is looked for, and the first of it played.
Result<void> play(storage::RecordingReader& reader, std::string what, double times,
                  PlayedFaster& played) {
    const auto summary = reader.summary();
    if (!summary) return failure(summary);
    const questions::Selection all;
    questions::Asked asked{reader, *summary, all};
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    if (what.empty()) {
        const auto choices = questions::fasterChoices(asked, *ranks);
        if (!choices) return failure(choices);
        for (const std::string& choice : *choices) played.choices << fromUtf8(choice);
        what = choices->empty() ? "link" : choices->front();
    }
    asked.faster = {{what, times}};
    return questions::addScenarios(asked, *ranks, played.answer);
}

/// What fails is said in place of the answer.
Result<PlayedFasterPtr> playFaster(storage::RecordingReader& reader, const std::string& what,
                                   double times) {
    auto played = std::make_shared<PlayedFaster>();
    const auto done = play(reader, what, times, *played);
    if (!done && done.error().code == ErrorCode::kCancelled) return failure(done);
    if (!done) played->refusal = fromUtf8(done.error().message);
    return PlayedFasterPtr(std::move(played));
}

const questions::Cell* figureOf(const questions::Answer& answer, std::string_view key) {
    for (const questions::Figure& figure : answer.figures)
        if (key == figure.what.key) return &figure.value;
    return nullptr;
}

QString changeText(double savedPercent) {
    const QString size = formatPercent(std::abs(savedPercent) / 100);
    if (std::abs(savedPercent) < 0.005) return QObject::tr("no change");
    return savedPercent > 0 ? QObject::tr("%1 less").arg(size) : QObject::tr("%1 more").arg(size);
}

/// In words that people use; what is asked for is the item's data.
QString choiceText(const QString& choice) {
    if (choice == u"link"_s) return QObject::tr("the link");
    if (choice.startsWith(u"rank "_s)) return QObject::tr("%1: its compute").arg(choice);
    return choice;
}

/// Before what it limits.
QString doubtOf(const questions::Answer& answer) {
    if (answer.doubt.empty()) return {};
    return QObject::tr("Uncertain: %1.").arg(fromUtf8(answer.doubt)) + u' ';
}

}  // namespace

QString fasterHeadline(const PlayedFaster& played) {
    if (!played.refusal.isEmpty())
        return QObject::tr("Unknown: %1")
            .arg(played.refusal.endsWith(u'.') ? played.refusal : played.refusal + u'.');
    const questions::Table* table = findTable(played.answer, "durations");
    const questions::Cell* recorded = figureOf(played.answer, "replay_recorded_ns");
    if (table == nullptr || table->rows.empty() || recorded == nullptr)
        return unknownSentences(played.answer, 1);
    const auto text = [&](const char* key) {
        return cellText(table->rows.front()[table->columnAt(key)], questions::Unit::kNanoseconds);
    };
    const double* saved = table->rows.front()[table->columnAt("saved_pct")].real();
    return doubtOf(played.answer) +
           QObject::tr("A step would take %1 (%2 to %3) instead of %4: %5.")
               .arg(text("step_ns"), text("low_ns"), text("high_ns"),
                    cellText(*recorded, questions::Unit::kNanoseconds),
                    saved != nullptr ? changeText(*saved) : unknownText());
}

QString replayErrorText(const questions::Answer& answer) {
    const questions::Cell* steps = figureOf(answer, "replay_steps");
    const questions::Cell* error = figureOf(answer, "replay_error_pct");
    if (steps == nullptr || error == nullptr) return {};
    return QObject::tr(
               "Error of the model on the recorded steps: %1 (%2 steps, played again without a "
               "change). The range also holds how far runs lie apart, and more the larger the "
               "change.")
        .arg(cellText(*error, questions::Unit::kChange), cellText(*steps, questions::Unit::kCount));
}

WhatIfPanel::WhatIfPanel(RecordingLoader& loader, QWidget* parent)
    : QWidget(parent), m_loader(loader), m_topic(loader, Urgency::kTable) {
    auto* layout = plainLayout(this);
    layout->addWidget(sectionLabel(tr("What if something were faster"), this));
    layout->addWidget(buildControls());
    m_headline = new QLabel(this);
    m_headline->setWordWrap(true);
    m_error = quietLabel({}, this);
    m_table = new DataTable(tr("What if"), this);
    m_table->setFitsRows(true);
    m_unknown = quietLabel({}, this);
    // what is unknown stands before figures that it limits
    for (QWidget* each : {static_cast<QWidget*>(m_headline), static_cast<QWidget*>(m_unknown),
                          static_cast<QWidget*>(m_error), static_cast<QWidget*>(m_table)})
        layout->addWidget(each);
    m_model = new FoldSection(tr("How this is estimated"), false, this);
    m_modelText = quietLabel({}, m_model);
    m_model->add(m_modelText, FoldSection::kColumns);
    layout->addWidget(m_model);
    connect(&loader, &RecordingLoader::sketched, this, &WhatIfPanel::restart);
    connect(&loader, &RecordingLoader::closed, this, &WhatIfPanel::restart);
    connect(&loader, &RecordingLoader::opened, this, [this] {
        if (isVisible()) play();
    });
    restart();
}

QWidget* WhatIfPanel::buildControls() {
    m_what = new QComboBox(this);
    m_what->setAccessibleName(tr("What is faster"));
    m_what->setToolTip(
        tr("The link, what one rank computes, or a kernel, an operator or a phase by its name"));
    m_what->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_what->setMinimumContentsLength(16);
    connect(m_what, &QComboBox::currentIndexChanged, this, &WhatIfPanel::play);
    m_times = new QDoubleSpinBox(this);
    m_times->setAccessibleName(tr("How many times as fast"));
    m_times->setToolTip(tr("Below 1 it is slower"));
    m_times->setRange(kLeastTimes, kMostTimes);
    m_times->setDecimals(2);
    m_times->setSingleStep(0.5);
    m_times->setValue(kUsualTimes);
    m_times->setKeyboardTracking(false);
    m_times->setButtonSymbols(QAbstractSpinBox::NoButtons);
    connect(m_times, &QDoubleSpinBox::valueChanged, this, &WhatIfPanel::play);
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    row->addWidget(m_what, 1);
    row->addWidget(m_times);
    auto* behind = new QLabel(tr("times as fast"), this);
    behind->setBuddy(m_times);
    row->addWidget(behind);
    row->addStretch(1);
    return plainBlock(row, this);
}

QString WhatIfPanel::headline() const {
    return m_headline->text();
}

void WhatIfPanel::reveal() {
    for (QWidget* each = parentWidget(); each != nullptr; each = each->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(each)) area->ensureWidgetVisible(this, 0, 0);
    m_what->setFocus(Qt::OtherFocusReason);
    m_wantsFocus = !m_what->isEnabled();
}

void WhatIfPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_stale) play();
}

void WhatIfPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    m_topic.forget();
}

/// Another recording has other kernels.
void WhatIfPanel::restart() {
    m_topic.forget();
    m_stale = true;
    fill({});
    say(tr("Open a recording with detail: its steps are played again with the link, a rank or a "
           "kernel faster."),
        {}, {});
    m_table->hide();
    m_model->hide();
}

void WhatIfPanel::play() {
    if (m_filling) return;
    m_stale = true;
    if (!isVisible() || !m_loader.recording()) return;
    say(tr("Playing the recorded steps again…"), {}, {});
    m_topic.ask(
        [what = m_what->currentData().toString().toStdString(), times = m_times->value()](
            auto& reader, const auto&, const auto&) { return playFaster(reader, what, times); },
        [this](const PlayedFasterPtr& played) { take(played); });
}

void WhatIfPanel::take(const PlayedFasterPtr& played) {
    m_stale = false;
    if (m_what->count() == 0) fill(played->choices);
    say(fasterHeadline(*played), replayErrorText(played->answer), {});
    const questions::Table* table = findTable(played->answer, "durations");
    m_table->setVisible(table != nullptr);
    m_model->setVisible(table != nullptr);
    if (table == nullptr) return;
    m_unknown->setText(unknownSentences(played->answer, kMostUnknown));
    m_unknown->setVisible(!m_unknown->text().isEmpty());
    AnswerTable made = answerTable(*table);
    m_table->updateTable(std::move(made.columns), std::move(made.rows));
    if (!played->answer.sentences.empty())
        m_modelText->setText(fromUtf8(played->answer.sentences.front()));
}

void WhatIfPanel::fill(const QStringList& choices) {
    m_filling = true;
    m_what->clear();
    for (const QString& choice : choices) m_what->addItem(choiceText(choice), choice);
    m_filling = false;
    m_what->setEnabled(!choices.isEmpty());
    m_times->setEnabled(!choices.isEmpty());
    if (m_what->isEnabled() && std::exchange(m_wantsFocus, false))
        m_what->setFocus(Qt::OtherFocusReason);
}

void WhatIfPanel::say(const QString& headline, const QString& error, const QString& unknown) {
    m_headline->setText(headline);
    m_error->setText(error);
    m_error->setVisible(!error.isEmpty());
    m_unknown->setText(unknown);
    m_unknown->setVisible(!unknown.isEmpty());
}

}  // namespace shardscope::desktop

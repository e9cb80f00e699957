#include "app/desktop/pages/compare/compare_page.h"

#include "app/desktop/loading/import_cache.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/choose_recordings.h"
#include "app/desktop/pages/compare/stack_panel.h"
#include "app/desktop/pages/compare/step_timelines.h"
#include "app/desktop/pages/recent_files.h"
#include "app/desktop/widgets/card.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStyle>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kWideCards = 1000;

/// What is asked of the readers, by kind.
constexpr int kComparison = 0, kSteps = 1, kStacks = 2;

void clear(QHBoxLayout& layout) {
    while (QLayoutItem* item = layout.takeAt(0)) {
        // a button of theirs may be what led here
        if (item->widget() != nullptr) item->widget()->hide(), item->widget()->deleteLater();
        delete item;
    }
}

QString fileName(const QString& path) {
    return path.section(u'/', -1, -1, QString::SectionSkipEmpty);
}

/// As the comparison that was read calls a file; else its own name.
QString nameIn(const ComparisonPtr& comparison, const QString& file, const QString& address) {
    const qsizetype place = comparison ? comparison->query.files.indexOf(file) : -1;
    return place < 0 ? fileName(address)
                     : comparison->recordings[static_cast<std::size_t>(place)].name;
}

}  // namespace

PageEntry ComparePage::entry() {
    return {page_ids::kCompare, u"compare"_s, tr("Compare"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new ComparePage(context, parent);
            }};
}

ComparePage::ComparePage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_loader(context.loader),
      m_files(context.compared),
      m_recentFile(context.recentFile) {
    setAcceptDrops(true);
    setUp(buildContent(), entry().icon, tr("Which of two runs is faster, and by what?"),
          tr("Figures, steps and stacks of both stand beside each other, with a verdict. The first "
             "is A; changes are of B, against A. Ctrl+click marks rows of the list on Start for "
             "it, too."),
          {{0, 0, 0.5, 0.05},
           {0, 0.09, 0.32, 0.14},
           {0.34, 0.09, 0.32, 0.14},
           {0.68, 0.09, 0.32, 0.14},
           {0, 0.28, 1, 0.3},
           {0, 0.62, 1, 0.36}},
          true);
    offerRecent();
    buildControls();
    const auto forget = [this] {
        m_readers.forget(kComparison);
        forgetEvidence();
        m_isReading = false;
        m_asked.reset();
    };
    connect(&context.loader, &RecordingLoader::sketched, this, forget);
    connect(&context.loader, &RecordingLoader::closed, this, forget);
    connect(&m_files, &ComparedFiles::changed, this, [this] {
        m_anyway = false;
        if (hasRecording() && isVisible()) present();
    });
}

std::vector<Page::KeyNote> ComparePage::keyNotes() const {
    auto* self = const_cast<ComparePage*>(this);
    return {{{},
             tr("compare the steps before, on one time axis"),
             [self] { self->m_timelines->turn(false); }},
            {{},
             tr("compare the steps after, on one time axis"),
             [self] { self->m_timelines->turn(true); }},
            {{}, tr("compare with another recording"), [self] { self->chooseOther(); }},
            {{}, tr("swap A and B"), [self] { self->swap(); }},
            {{}, tr("search the compared stacks"), [self] { self->m_stackPanel->focusSearch(); }}};
}

void ComparePage::placeCards() {
    const int columns = width() >= kWideCards ? kCardCount : kCardCount / 2;
    if (columns == m_cardColumns) return;
    m_cardColumns = columns;
    for (int i = 0; i < kCardCount; ++i) {
        m_cardGrid->addWidget(m_cards[static_cast<std::size_t>(i)], i / columns, i % columns);
        m_cardGrid->setColumnStretch(i, i < columns ? 1 : 0);
    }
}

void ComparePage::resizeEvent(QResizeEvent* event) {
    RecordingPage::resizeEvent(event);
    placeCards();
}

void ComparePage::showEvent(QShowEvent* event) {
    RecordingPage::showEvent(event);
    // others may have been chosen, or opened, on another page
    if (hasRecording())
        present();
    else
        offerRecent();
}

void ComparePage::dragEnterEvent(QDragEnterEvent* event) {
    if (hasRecording() && event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void ComparePage::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) m_files.add(url.toLocalFile());
    event->acceptProposedAction();
}

void ComparePage::chooseOther() {
    chooseRecordings(this, tr("Compare with a recording"), [this](const QStringList& files) {
        for (const QString& file : files) m_files.add(file);
    });
}

/// The first is the baseline; of one alone this page asks for the other.
void ComparePage::openToCompare(const QStringList& files) {
    m_files.set(files.mid(1));
    Q_EMIT fileRequested(files.front());
}

void ComparePage::addWays(MessageState& empty) {
    m_compareRecent = empty.addAction(tr("Compare the last two"), true);
    connect(m_compareRecent, &QPushButton::clicked, this, [this] { openToCompare(m_lastTwo); });
    m_compareTwo = empty.addAction(tr("Choose two recordings…"), true);
    connect(m_compareTwo, &QPushButton::clicked, this, [this] {
        chooseRecordings(this, tr("Compare two recordings or more"),
                         [this](const QStringList& files) { openToCompare(files); });
    });
}

/// What one has just recorded is mostly compared with what one recorded before it.
void ComparePage::offerRecent() {
    m_lastTwo.clear();
    const RecentFiles recent(m_recentFile);
    for (const RecentFile& each : recent.files())
        if (m_lastTwo.size() < 2 && QFileInfo::exists(each.path)) m_lastTwo.prepend(each.path);
    const bool any = m_lastTwo.size() == 2;
    m_compareRecent->setVisible(any);
    m_compareTwo->setProperty("primary", !any);
    m_compareTwo->style()->polish(m_compareTwo);
    if (!any) return;
    m_compareRecent->setText(
        tr("Compare %1 with %2").arg(fileName(m_lastTwo.back()), fileName(m_lastTwo.front())));
    m_compareRecent->setAccessibleName(m_compareRecent->text());
    m_compareRecent->setToolTip(m_lastTwo.join(u'\n'));
}

void ComparePage::swap() {
    const QStringList files = comparable();
    if (files.size() != 2) return;
    const bool judgesOpen = m_judged == files.front();
    m_judged = judgesOpen ? files.back() : files.front();
    present();
}

QStringList ComparePage::comparable() {
    return hasRecording() ? m_files.withOpen(recording()) : QStringList();
}

std::optional<CompareQuery> ComparePage::queryNow() {
    QStringList files = comparable();
    if (files.size() < 2) return std::nullopt;
    if (!files.contains(m_judged)) m_judged = files.back();
    files.removeAll(m_judged);
    files << m_judged;
    CompareQuery query{files, {}, m_anyway, {}};
    for (const QString& file : files)
        query.names << fileName(file == recording().path ? recording().address() : file);
    const Selection& selected = selection().current();
    query.selection.ranks = selected.ranks;
    if (selected.cutsTime()) query.selection.steps = recording().stepsOf(selected);
    return query;
}

void ComparePage::present() {
    const auto query = queryNow();
    presentSides();
    presentControls();
    m_none->setVisible(!query);
    if (!query) {
        m_readers.forget(kComparison);
        forgetEvidence();
        m_isReading = false;
        m_asked.reset();
        m_comparison.reset();
        m_steps.reset();
        pageFrame().setHeadline(
            tr("%1 is not compared with anything yet.").arg(recording().label()), {});
        return presentComparison();
    }
    if (recording().isImporting()) {
        pageFrame().setHeadline(
            tr("The trace is being imported; it is compared when the import is complete."), {});
        return;
    }
    const bool finished = recording().summary.complete;
    if (m_asked != query || m_askedFinished != finished) {
        m_askedFinished = finished;
        ask(*query);
    } else {
        presentComparison();
    }
}

void ComparePage::ask(const CompareQuery& query) {
    m_asked = query;
    m_failure.clear();
    m_isReading = true;
    forgetEvidence();
    m_readers.setImportFolder(m_loader.importFolder());
    pageFrame().setHeadline(tr("Reading and comparing…"), query.names.join(u", "_s));
    if (m_comparison && m_comparison->query.files != query.files) {
        m_comparison.reset();
        m_steps.reset();
        presentComparison();
    }
    m_readers.ask(
        kComparison, query.files,
        [query](const OtherRecordings::Readers& readers) { return readComparison(readers, query); },
        [this](const Result<ComparisonPtr>& made) { take(made); });
}

void ComparePage::take(const Result<ComparisonPtr>& made) {
    m_isReading = false;
    m_steps.reset();
    m_comparison = made ? *made : ComparisonPtr();
    m_failure = made ? QString() : fromUtf8(made.error().message);
    presentSides();
    presentControls();
    presentComparison();
    if (!m_comparison || m_comparison->refused) return;
    presentSteps();
    presentTimelines();
    askForStacks(std::nullopt);
}

void ComparePage::forgetEvidence() {
    m_readers.forget(kSteps);
    m_readers.forget(kStacks);
    m_isReadingSteps = m_isReadingStacks = false;
    m_timelines->forget();
}

void ComparePage::say(const QString& text) {
    m_note->setText(breakable(text));
    m_note->setVisible(!text.isEmpty());
}

/// A chip for each: letter, name, what it is; the others can be taken away.
void ComparePage::presentSides() {
    clear(*m_sideLayout);
    QStringList files = comparable();
    m_sides->setVisible(files.size() > 1);
    if (files.size() > 1) {
        files.removeAll(m_judged);
        files << m_judged;
    }
    for (qsizetype i = 0; i < files.size(); ++i) {
        const bool isOpen = files[i] == recording().path;
        const QString name =
            nameIn(m_comparison, files[i], isOpen ? recording().address() : files[i]);
        auto* label = new QLabel(tr("%1  %2%3")
                                     .arg(letterOf(static_cast<std::size_t>(i)), name,
                                          isOpen ? tr(" · open") : QString()),
                                 m_sides);
        label->setToolTip(files[i]);
        m_sideLayout->addWidget(label);
        if (!isOpen) {
            auto* remove = new QPushButton(tr("Remove"), m_sides);
            remove->setProperty("link", true);
            remove->setAccessibleName(tr("Stop comparing with %1").arg(name));
            connect(remove, &QPushButton::clicked, this,
                    [this, file = files[i]] { m_files.remove(file); });
            m_sideLayout->addWidget(remove);
        }
        m_sideLayout->addSpacing(kGapGroup);
    }
    m_sideLayout->addStretch();
    QStringList notes;
    if (comparable().size() <= m_files.files().size())
        notes << tr(
            "One of the files is the recording that is open: it is not compared with "
            "itself.");
    if (recording().isRunning())
        notes << tr(
            "The open recording is still being written: the comparison covers what was "
            "there when it was read.");
    const Selection& selected = selection().current();
    if (selected.cutsTime() && !recording().stepsOf(selected))
        notes << tr("No whole step lies in the selection: all steps are compared.");
    if (!m_failure.isEmpty()) notes << m_failure;
    say(notes.join(u' '));
}

void ComparePage::presentControls() {
    const QStringList files = comparable();
    m_swap->setVisible(files.size() == 2);
    m_choice->setVisible(files.size() > 2);
    const QSignalBlocker quiet(m_choice);
    m_choice->clear();
    for (const QString& file : files)
        m_choice->addItem(tr("Changes of %1").arg(nameIn(m_comparison, file, file)), file);
    m_choice->setCurrentIndex(m_choice->findData(m_judged));
}

void ComparePage::presentComparison() {
    const bool any = m_comparison && !m_comparison->refused;
    m_full->setVisible(any);
    m_refused->setVisible(m_comparison && m_comparison->refused);
    m_warnings->hide();
    if (!m_failure.isEmpty())
        pageFrame().setHeadline(tr("These recordings could not be compared."), {});
    if (!m_comparison) return;
    pageFrame().setHeadline(compareHeadline(*m_comparison), compareSubline(*m_comparison));
    QStringList sentences;
    const auto add = [&](const std::vector<std::string>& more) {
        for (const std::string& each : more) sentences << fromUtf8(each);
    };
    if (m_comparison->refused) {
        add(m_comparison->able.refusals);
        m_refused->setText(tr("They are of different work"), sentences.join(u' '));
        return;
    }
    add(m_comparison->able.refusals);
    add(m_comparison->able.warnings);
    for (const std::string& unknown : m_comparison->answer.unknown)
        sentences << fromUtf8(unknown) + u'.';
    m_warnings->setText(breakable(sentences.join(u' ')));
    m_warnings->setVisible(!sentences.isEmpty());
    presentCards();
    const auto ledger = mirroredLedger(m_comparison->figures);
    m_ledgerBlock->setVisible(!ledger.empty());
    const auto count = m_comparison->recordings.size();
    m_ledger->setTitles(baselineName(count), letterOf(count - 1), tr("difference"));
    m_ledger->setBars(ledger);
    {
        const QSignalBlocker quiet(m_table);
        const QString before = m_table->currentText();
        m_table->clear();
        for (const auto& [key, title] : differenceTables(m_comparison->answer))
            m_table->addItem(title, QString::fromLatin1(key));
        m_table->setCurrentIndex(std::max(0, m_table->findText(before)));
    }
    presentDifferences();
    presentLosses();
    const AnswerTable& figures = m_comparison->tables.at("figures");
    m_figures->setTable(figures.columns, figures.rows);
}

void ComparePage::presentCards() {
    const auto cards = compareCards(m_comparison->figures);
    for (std::size_t i = 0; i < m_cards.size(); ++i) {
        m_cards[i]->setVisible(i < cards.size());
        if (i >= cards.size()) continue;
        const CompareCard& card = cards[i];
        m_cards[i]->setTitle(card.title, card.briefTitle);
        m_cards[i]->setValue(card.value.number, card.value.unit, tr("from %1").arg(card.before));
        m_cards[i]->setDetail(card.change);
        m_cards[i]->setDefinition(card.definition);
        m_cards[i]->setVerdict(card.verdict, card.good);
    }
}

/// A box for each recording, at its median step.
void ComparePage::presentSteps() {
    clear(*m_stepChoice);
    m_stepBoxes.clear();
    bool all = true;
    for (std::size_t i = 0; i < m_comparison->recordings.size(); ++i) {
        const ComparedRecording& each = m_comparison->recordings[i];
        const auto steps = stepsOf(each);
        all = all && steps.has_value();
        if (!steps) continue;
        auto* box = new QSpinBox(m_stepBlock);
        box->setRange(steps->first.value, steps->last.value);
        box->setValue(medianStep(*m_comparison, i).value_or(steps->first).value);
        box->setPrefix(tr("%1 step ").arg(letterOf(i)));
        box->setAccessibleName(tr("Step of %1").arg(each.name));
        box->setToolTip(tr("Its median step at first"));
        box->setKeyboardTracking(false);
        box->setButtonSymbols(QAbstractSpinBox::NoButtons);
        box->setFixedWidth(120);
        connect(box, &QSpinBox::valueChanged, this, &ComparePage::askForSteps);
        m_stepChoice->addWidget(box);
        m_stepBoxes.push_back(box);
    }
    m_stepBlock->setVisible(all);
    if (all) askForSteps();
}

/// Of the first baseline and the run that is judged, as the flame graph.
void ComparePage::presentTimelines() {
    const CompareQuery& query = m_comparison->query;
    const bool any =
        stepsOf(m_comparison->recordings.front()) && stepsOf(m_comparison->recordings.back());
    m_timelines->setVisible(any);
    if (!any) return m_timelines->forget();
    m_timelines->setImportFolder(m_loader.importFolder());
    const auto& ranks = query.selection.ranks;
    m_timelines->show({{query.files.front(), query.files.back()},
                       {letterOf(0), letterOf(m_comparison->recordings.size() - 1)},
                       query.selection.steps,
                       ranks.empty() ? std::nullopt : std::optional(ranks.front())});
}

bool ComparePage::readsTimelines() const {
    return m_timelines->isReading();
}

void ComparePage::askForSteps() {
    if (!m_comparison) return;
    std::vector<StepIndex> steps;
    for (const QSpinBox* box : m_stepBoxes) steps.push_back(StepIndex{box->value()});
    m_isReadingSteps = true;
    m_readers.ask(
        kSteps, m_comparison->query.files,
        [steps](const OtherRecordings::Readers& readers) { return readSteps(readers, steps); },
        [this](const Result<StepsPtr>& made) {
            m_isReadingSteps = false;
            if (!made) return say(fromUtf8(made.error().message));
            m_steps = *made;
            StepBars bars = stepBars(*m_steps);
            m_barOrigins = std::move(bars.origins);
            m_stepBars->setBars(std::move(bars.bars));
            m_stepLegend->setEntries(stepLegend(*m_steps));
        });
}

void ComparePage::askForStacks(std::optional<questions::StackKind> wanted) {
    if (!m_comparison) return;
    m_isReadingStacks = true;
    m_stackPanel->showNothing(tr("Reading stacks…"));
    m_readers.ask(
        kStacks, m_comparison->query.files,
        [selection = m_comparison->query.selection,
         wanted](const OtherRecordings::Readers& readers) {
            return readComparedStacks(readers, selection, wanted);
        },
        [this](const Result<ComparedStacksPtr>& made) {
            m_isReadingStacks = false;
            if (!made) return m_stackPanel->showNothing(fromUtf8(made.error().message));
            m_stackPanel->setStacks(*made);
        });
}

/// On the Timeline, of the open recording alone.
void ComparePage::showStep(int bar) {
    if (!m_comparison || bar < 0 || bar >= static_cast<int>(m_barOrigins.size())) return;
    const StepBars::Origin& origin = m_barOrigins[static_cast<std::size_t>(bar)];
    const QString file = m_comparison->query.files.value(static_cast<qsizetype>(origin.recording));
    if (!hasRecording() || file != recording().path) return;
    Selection evidence;
    evidence.steps = StepSpan{origin.step, origin.step};
    evidence.ranks = {origin.rank};
    showElsewhere(page_ids::kTimeline, evidence);
}

void ComparePage::presentDifferences() {
    if (!m_comparison) return;
    const auto found = m_comparison->tables.find(m_table->currentData().toString().toStdString());
    m_differenceBlock->setVisible(found != m_comparison->tables.end());
    if (found == m_comparison->tables.end()) return;
    m_differences->setTable(found->second.columns, found->second.rows);
}

void ComparePage::presentLosses() {
    m_losses->setSeries(lossSeries(*m_comparison));
    m_losses->setMarks(lossMarks(*m_comparison));
}

}  // namespace shardscope::desktop

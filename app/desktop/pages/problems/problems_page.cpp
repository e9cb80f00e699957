#include "app/desktop/pages/problems/problems_page.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/finding_list.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/cancellable_reader.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Of more rows a table scrolls by itself.
constexpr std::size_t kMostFittedRows = 32;
constexpr int kRowsSeen = 12;  ///< of more than those

void clear(QVBoxLayout& layout) {
    while (QLayoutItem* item = layout.takeAt(0)) {
        // a button of theirs may be what led here
        if (item->widget() != nullptr) item->widget()->hide(), item->widget()->deleteLater();
        delete item;
    }
}

std::optional<std::int64_t> numberAt(const questions::Table& table, int row, const char* key) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        if (std::string_view(table.columns[c].key) != key) continue;
        const auto* number = table.rows[static_cast<std::size_t>(row)][c].integer();
        if (number != nullptr) return *number;
    }
    return std::nullopt;
}

Result<std::shared_ptr<const questions::Answer>> readTrust(storage::RecordingReader& reader,
                                                           const SelectedPart& part) {
    const questions::Selection selection = askedSelection(part.selection);
    const questions::Asked asked{reader, *part.summary, selection};
    const questions::Question* trust = questions::findQuestion("trust");
    if (trust == nullptr) return failure(ErrorCode::kFailure, "there is no such question");
    auto answer = questions::answerTo(*trust, asked);
    if (!answer) return failure(answer);
    return std::make_shared<const questions::Answer>(std::move(*answer));
}

using analysis::CheckState;

/// A tick, a filled square, a hollow circle: shape before colour.
class StateMark : public QWidget {
public:
    StateMark(CheckState state, QWidget* parent) : QWidget(parent), m_state(state) {
        setFixedSize(16, 18);
        setAccessibleName(QString::fromLatin1(toWord(state)));
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        if (m_state == CheckState::kFine) {
            painter.setPen(QPen(theme.good, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
            painter.drawPolyline(QPolygonF{{3, 9.5}, {6.5, 13}, {12.5, 5.5}});
        } else if (m_state == CheckState::kProblem) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.bad);
            painter.drawRect(QRectF(4, 5.5, 7.5, 7.5));
        } else {
            painter.setPen(QPen(theme.quietText, 1.6));
            painter.drawEllipse(QPointF(7.75, 9.25), 4, 4);
        }
    }

private:
    CheckState m_state;
};

}  // namespace

PageEntry ProblemsPage::entry() {
    return {page_ids::kProblems, u"problems"_s, tr("Problems"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new ProblemsPage(context, parent);
            }};
}

ProblemsPage::ProblemsPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent), m_asked(context.loader, Urgency::kTable) {
    setUp(buildContent(), entry().icon, tr("Can it be trusted, and what is to be done?"),
          tr("Open a recording or start a run: this page then lists what is missing from it, what "
             "limits its figures, what stands out in the run, and what was checked."),
          {{0, 0, 0.7, 0.06},
           {0, 0.1, 0.7, 0.06},
           {0, 0.2, 0.7, 0.06},
           {0, 0.34, 1, 0.24},
           {0, 0.64, 1, 0.3}},
          true);
    buildControls();
}

QWidget* ProblemsPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = plainLayout(content);
    layout->setSpacing(kGapGroup);
    m_notices = new QWidget(content);
    m_noticeLayout = plainLayout(m_notices);
    layout->addWidget(m_notices);
    auto* checks = new QWidget(content);
    auto* checksLayout = plainLayout(checks);
    m_checks = new CheckList(checks);
    checksLayout->addWidget(sectionLabel(tr("What was checked"), checks));
    checksLayout->addWidget(m_checks);
    layout->addWidget(checks);
    m_evidence = new QWidget(content);
    m_evidenceLayout = plainLayout(m_evidence);
    m_evidence->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    layout->addWidget(m_evidence);
    m_import = new QWidget(content);
    auto* import = plainLayout(m_import);
    m_importFacts = new DetailList(m_import);
    m_importFacts->setWraps(true, 160);
    import->addWidget(sectionLabel(tr("How it was imported, and what was left out"), m_import));
    import->addWidget(m_importFacts);
    layout->addWidget(m_import);
    layout->addStretch();
    return content;
}

void ProblemsPage::buildControls() {
    m_scope = new QComboBox(this);
    m_scope->addItems({tr("Whole recording"), tr("What is selected")});
    m_scope->setAccessibleName(tr("What is judged"));
    m_scope->setToolTip(
        tr("The badge counts the problems of the whole recording; the Overview lists those of "
           "what is selected."));
    connect(m_scope, &QComboBox::currentIndexChanged, this, [this] {
        if (hasRecording()) present();
    });
    m_filter = new QComboBox(this);
    m_filter->addItems(problemFilterNames());
    m_filter->setAccessibleName(tr("Which are listed"));
    connect(m_filter, &QComboBox::currentIndexChanged, this, [this] {
        if (m_shown) presentLists();
    });
    m_export = new QPushButton(tr("Export"), this);
    m_export->setToolTip(tr("Copy what is listed, or write it to a file"));
    auto* menu = new QMenu(m_export);
    menu->addAction(tr("Copy as text"), this, &ProblemsPage::copyAll);
    menu->addAction(tr("Save to a file…"), this, &Page::exportRequested);
    m_export->setMenu(menu);
    for (QWidget* control : {static_cast<QWidget*>(m_scope), static_cast<QWidget*>(m_filter),
                             static_cast<QWidget*>(m_export)})
        pageFrame().addHeaderWidget(control);
}

std::vector<Page::KeyNote> ProblemsPage::keyNotes() const {
    auto* self = const_cast<ProblemsPage*>(this);
    return {{{}, tr("copy the list of problems"), [self] { self->copyAll(); }},
            {{}, tr("save the list of problems"), [self] { Q_EMIT self->exportRequested(); }}};
}

ProblemFilter ProblemsPage::filter() const {
    return static_cast<ProblemFilter>(std::max(0, m_filter->currentIndex()));
}

void ProblemsPage::present() {
    if (!hasPart()) return;
    const bool cuts = !selection().current().isEverything();
    m_scope->setVisible(cuts);
    const bool ofSelection = cuts && m_scope->currentIndex() == 1;
    PartPtr wanted = currentPart();
    if (!ofSelection && !wanted->selection.isEverything())
        wanted =
            m_shown && m_shown->recording == shownRecording() && m_shown->selection.isEverything()
                ? m_shown
                : wholePart(shownRecording());
    const bool sameSelection = m_shown && m_shown->selection == wanted->selection;
    const bool same = sameSelection && m_shown->recording == wanted->recording;
    // while a recording grows, the previous findings stay until the new ones are there
    if (!sameSelection || m_shown->recording->path != wanted->recording->path) m_trust.reset();
    m_shown = wanted;
    if (!same) askForTrust();
    presentLists();
    presentEvidence();
}

void ProblemsPage::askForTrust() {
    if (!m_shown->refusal.isEmpty()) return m_asked.forget();
    m_asked.ask(
        [part = m_shown](auto& reader, const auto&, const auto& generation) {
            storage::CancellableReader cancellable(reader, generation);
            return readTrust(cancellable, *part);
        },
        [this](const AnswerPtr& answer) {
            m_trust = answer;
            if (!hasRecording()) return;
            presentLists();
            presentEvidence();
        });
}

void ProblemsPage::presentLists() {
    m_view = problemsView(*m_shown, m_trust.get());
    const bool isRead = m_trust || !m_shown->refusal.isEmpty();
    const bool nothing = problemCount(m_view.findings) == 0;
    pageFrame().setHeadline(
        isRead || !nothing ? problemsHeadline(m_view, *m_shown) : tr("No problems so far."),
        isRead ? problemsSubline(m_view, *m_shown) : tr("Events are still being checked…"));
    clear(*m_noticeLayout);
    const auto groups = problemGroups(m_view.findings, filter());
    for (const ProblemGroup& group : groups) {
        m_noticeLayout->addWidget(
            sectionLabel(tr("%1 (%2)").arg(group.title).arg(group.findings.size()), m_notices));
        auto* list = new FindingList(m_notices);
        list->setNamesSeverity(true);
        list->setFindings(group.findings, {});
        connect(list, &FindingList::evidenceRequested, this, &ProblemsPage::showFinding);
        m_noticeLayout->addWidget(list);
        m_noticeLayout->addSpacing(kGap);
    }
    if (groups.empty() && filter() != ProblemFilter::kUnknown)
        m_noticeLayout->addWidget(quietLabel(
            m_view.findings.empty()
                ? tr("Nothing is missing, nothing was noted, nothing stands out.")
                : tr("None of the %1 notices is of this kind.").arg(m_view.findings.size()),
            m_notices));
    m_checks->setChecks(desktop::checksOf(m_view, filter()));
}

void ProblemsPage::presentEvidence() {
    clear(*m_evidenceLayout);
    m_import->setVisible(!recording().importFacts.empty());
    m_importFacts->setRows(recording().importFacts);
    if (!m_trust) return;
    for (const questions::Table& table : m_trust->tables) {
        const std::string_view key = table.key;
        // those are the page's lists
        if (key == "checks" || key == "diagnostics" || table.rows.empty()) continue;
        addTable(table);
    }
}

void ProblemsPage::addTable(const questions::Table& table) {
    const AnswerTable shown = answerTable(table);
    auto* view = new DataTable(shown.title, m_evidence);
    const bool fits = shown.rows.size() <= kMostFittedRows;
    if (fits)
        view->setFitsRows(true);
    else
        view->setRowsSeen(kRowsSeen);
    view->setTable(shown.columns, shown.rows);
    connect(view, &DataTable::rowActivated, this,
            [this, answer = m_trust, &table](int row) { showRow(table, row); });
    m_evidenceLayout->addWidget(sectionLabel(shown.title, m_evidence));
    m_evidenceLayout->addWidget(view);
}

/// A rank, or a step of one, on the Timeline. `table` lives as long as the table that shows it.
void ProblemsPage::showRow(const questions::Table& table, int row) {
    Selection evidence;
    if (const auto rank = numberAt(table, row, "rank"); rank && *rank >= 0)
        evidence.ranks = {RankId{static_cast<std::uint32_t>(*rank)}};
    if (const auto step = numberAt(table, row, "step")) {
        const StepIndex index{static_cast<std::int32_t>(*step)};
        evidence.steps = StepSpan{index, index};
    }
    if (!evidence.isEverything()) showElsewhere(page_ids::kTimeline, evidence);
}

void ProblemsPage::copyAll() const {
    if (m_shown)
        QApplication::clipboard()->setText(
            exportedProblems(m_view, *m_shown, ProblemFormat::kMarkdown));
}

std::vector<Page::Text> ProblemsPage::texts() const {
    if (!m_shown) return {};
    const auto counted = [](std::size_t count, const QString& one, const QString& several) {
        return u"%1 %2"_s.arg(formatCount(static_cast<std::int64_t>(count)),
                              count == 1 ? one : several);
    };
    const QString lists = tr("%1 and %2")
                              .arg(counted(m_view.findings.size(), tr("notice"), tr("notices")),
                                   counted(m_view.checks.size(), tr("check"), tr("checks")));
    const auto text = [this](ProblemFormat format) {
        return exportedProblems(m_view, *m_shown, format);
    };
    return {
        {tr("Problems (Markdown)"), tr("%1, to read").arg(lists), u"md"_s,
         text(ProblemFormat::kMarkdown)},
        {tr("Problems (CSV)"), tr("%1, for a spreadsheet").arg(lists), u"csv"_s,
         text(ProblemFormat::kCsv)},
        {tr("Problems (JSON)"), tr("%1, for programs").arg(lists), u"json"_s,
         text(ProblemFormat::kJson)},
    };
}

CheckList::CheckList(QWidget* parent) : QWidget(parent), m_layout(new QGridLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(12);
    m_layout->setVerticalSpacing(6);
    m_layout->setColumnStretch(3, 1);
}

void CheckList::setChecks(const std::vector<CheckRow>& checks) {
    while (QLayoutItem* item = m_layout->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    int row = 0;
    for (const CheckRow& check : checks) {
        const QString state = QString::fromLatin1(toWord(check.state));
        auto* what = new QLabel(check.what, this);
        auto* word = sectionLabel(state, this);
        auto* found = quietLabel(breakable(check.found), this);
        found->setTextInteractionFlags(Qt::TextSelectableByMouse);
        what->setAccessibleName(check.what + QStringLiteral(": ") + state);
        m_layout->addWidget(new StateMark(check.state, this), row, 0, Qt::AlignTop);
        m_layout->addWidget(what, row, 1, Qt::AlignTop);
        m_layout->addWidget(word, row, 2, Qt::AlignTop);
        m_layout->addWidget(found, row, 3);
        ++row;
    }
}

}  // namespace shardscope::desktop

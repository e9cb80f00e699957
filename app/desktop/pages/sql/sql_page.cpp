#include "app/desktop/pages/sql/sql_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/recording/read/cancellable_reader.h"
#include "storage/recording/read/schema_tables.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStringListModel>
#include <QTextBlock>
#include <QTextCursor>
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kEditorHeight = 200, kLeastEditor = 112, kCurveHeight = 208;
constexpr int kLeastForCurve = 560;  ///< of the page: the table comes first
constexpr int kFirstCompletion = 2;  ///< letters
enum Form { kLine, kPoints };

const QStringList& sqlWords() {
    static const QStringList kWords{
        u"SELECT"_s,    u"DISTINCT"_s,      u"FROM"_s,          u"WHERE"_s,
        u"GROUP BY"_s,  u"ORDER BY"_s,      u"HAVING"_s,        u"LIMIT"_s,
        u"JOIN"_s,      u"LEFT JOIN"_s,     u"USING"_s,         u"DESC"_s,
        u"BETWEEN"_s,   u"LIKE"_s,          u"GLOB"_s,          u"CASE WHEN"_s,
        u"THEN"_s,      u"ELSE"_s,          u"count(*)"_s,      u"sum("_s,
        u"avg("_s,      u"min("_s,          u"max("_s,          u"round("_s,
        u"coalesce("_s, u"group_concat("_s, u"json_extract("_s, u"row_number() OVER ("_s,
        u"lag("_s,      u":begin_ns"_s,     u":end_ns"_s};
    return kWords;
}

QString answerText(const SqlAnswer& answer) {
    const auto rows = static_cast<std::int64_t>(answer.rows.size());
    const QString time = formatDuration({std::llround(answer.seconds * 1e9)});
    if (answer.cut)
        return QObject::tr("The first %1 rows, in %2. Add a LIMIT, or GROUP BY, to see all.")
            .arg(formatCount(rows), time);
    return QObject::tr("%1 in %2").arg(formatCounted(rows, "row"), time);
}

}  // namespace

SqlEditor::SqlEditor(QWidget* parent)
    : QPlainTextEdit(parent),
      m_completer(new QCompleter(this)),
      m_words(new QStringListModel(sqlWords(), this)) {
    setFont(codeFont(kTextPixels));
    setTabChangesFocus(true);
    setAccessibleName(tr("SQL statement"));
    setPlaceholderText(tr("SELECT name, count(*) FROM operators GROUP BY name"));
    m_completer->setModel(m_words);
    m_completer->setWidget(this);
    m_completer->setCaseSensitivity(Qt::CaseInsensitive);
    m_completer->setCompletionMode(QCompleter::PopupCompletion);
    connect(m_completer, qOverload<const QString&>(&QCompleter::activated), this,
            &SqlEditor::insert);
}

void SqlEditor::setSchema(const std::vector<storage::SchemaTable>& tables) {
    std::set<QString> names;
    for (const storage::SchemaTable& table : tables) {
        const QString name = fromUtf8(table.name);
        names.insert(name);
        for (const std::string& each : table.columns) {
            const QString column = fromUtf8(each);
            names.insert(column);
            names.insert(name + u'.' + column);
        }
    }
    QStringList words(names.begin(), names.end());
    words << sqlWords();
    m_words->setStringList(words);
}

QString SqlEditor::wordBefore() const {
    const QTextCursor cursor = textCursor();
    const QString line = cursor.block().text().left(cursor.positionInBlock());
    auto begin = line.size();
    while (begin > 0 && (line[begin - 1].isLetterOrNumber() || line[begin - 1] == u'_' ||
                         line[begin - 1] == u'.' || line[begin - 1] == u':'))
        --begin;
    return line.mid(begin);
}

void SqlEditor::insert(const QString& word) {
    QTextCursor cursor = textCursor();
    cursor.movePosition(QTextCursor::Left, QTextCursor::KeepAnchor,
                        static_cast<int>(wordBefore().size()));
    cursor.insertText(word);
    setTextCursor(cursor);
}

void SqlEditor::complete(bool asked) {
    const QString word = wordBefore();
    if (!asked && word.size() < kFirstCompletion) return m_completer->popup()->hide();
    m_completer->setCompletionPrefix(word);
    const bool isThere = m_completer->completionCount() == 1 &&
                         m_completer->currentCompletion().compare(word, Qt::CaseInsensitive) == 0;
    if (m_completer->completionCount() == 0 || isThere) return m_completer->popup()->hide();
    m_completer->popup()->setCurrentIndex(m_completer->completionModel()->index(0, 0));
    QRect place = cursorRect();
    place.setWidth(m_completer->popup()->sizeHintForColumn(0) +
                   m_completer->popup()->verticalScrollBar()->sizeHint().width());
    m_completer->complete(place);
}

void SqlEditor::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    const bool isEnter = key == Qt::Key_Return || key == Qt::Key_Enter;
    if (m_completer->popup()->isVisible() &&
        (isEnter || key == Qt::Key_Tab || key == Qt::Key_Escape) &&
        event->modifiers() == Qt::NoModifier)
        return event->ignore();  // the list's
    if (isEnter && event->modifiers().testFlag(Qt::ControlModifier)) {
        m_completer->popup()->hide();
        return Q_EMIT runRequested();
    }
    if (key == Qt::Key_Space && event->modifiers() == Qt::ControlModifier) return complete(true);
    QPlainTextEdit::keyPressEvent(event);
    if (!event->text().isEmpty() && event->text()[0].isPrint())
        complete(false);
    else if (key == Qt::Key_Backspace && m_completer->popup()->isVisible())
        complete(false);
    else
        m_completer->popup()->hide();
}

PageEntry SqlPage::entry() {
    return {page_ids::kSql, u"sql"_s, tr("SQL"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new SqlPage(context, parent);
            }};
}

SqlPage::SqlPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_settingsFile(context.settingsFile),
      m_schema(context.loader, Urgency::kTable),
      m_asked(context.loader, Urgency::kTable) {
    setUp(buildContent(), entry().icon, tr("What else is in the recording?"),
          tr("Open a recording or start a run: this page then answers statements in SQL about its "
             "steps, operators, kernels, collectives, memory and metrics."),
          {{0, 0, 1, 0.22}, {0, 0.28, 1, 0.7}}, false);
    setFocusProxy(m_editor);
    offerQueries(firstQuery());
    choose(m_queries->currentIndex());
}

QWidget* SqlPage::buildContent() {
    auto* content = new Splitter(Qt::Vertical, u"sql.answer"_s,
                                 tr("Divider between the statement and its answer"), this);
    content->addWidget(buildEditor(content));
    content->addWidget(buildAnswer(content));
    content->setPreferredSize(0, kEditorHeight);
    content->setPreferredShares({1, 3});
    return content;
}

QWidget* SqlPage::buildEditor(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block);
    m_queries = new QComboBox(block);
    m_queries->setAccessibleName(tr("Statements to begin with, and those that were kept"));
    m_queries->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_queries, &QComboBox::activated, this, &SqlPage::choose);
    auto* save = new QPushButton(tr("Keep…"), block);
    save->setToolTip(tr("Keeps the statement under a name"));
    connect(save, &QPushButton::clicked, this, &SqlPage::save);
    m_forget = new QPushButton(tr("Forget"), block);
    m_forget->setToolTip(tr("Forgets the statement that was kept under this name"));
    connect(m_forget, &QPushButton::clicked, this, &SqlPage::forget);
    m_run = new QPushButton(tr("Run"), block);
    m_run->setProperty("primary", true);
    m_run->setToolTip(tr("Ctrl+Enter"));
    connect(m_run, &QPushButton::clicked, this, &SqlPage::run);
    m_cancel = new QPushButton(tr("Cancel"), block);
    m_cancel->setEnabled(false);
    connect(m_cancel, &QPushButton::clicked, this, &SqlPage::cancel);
    m_editor = new SqlEditor(block);
    m_editor->setMinimumHeight(kLeastEditor);
    connect(m_editor, &SqlEditor::runRequested, this, &SqlPage::run);
    m_state = quietLabel({}, block);
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    row->addWidget(m_queries);
    row->addWidget(save);
    row->addWidget(m_forget);
    row->addStretch();
    row->addWidget(m_run);
    row->addWidget(m_cancel);
    layout->addLayout(row);
    layout->addWidget(m_editor, 1);
    layout->addWidget(m_state);
    return block;
}

QWidget* SqlPage::buildAnswer(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block);
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    const auto add = [&](QComboBox*& box, const QString& title, const QString& spoken) {
        box = new QComboBox(block);
        box->setAccessibleName(spoken);
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        connect(box, &QComboBox::activated, this, &SqlPage::showCurve);
        row->addWidget(quietLabel(title, block));
        row->addWidget(box);
    };
    add(m_up, tr("Draw"), tr("Column that is drawn"));
    add(m_across, tr("over"), tr("Column along the axis"));
    add(m_form, tr("as"), tr("How it is drawn"));
    m_form->addItems({tr("a line"), tr("points")});
    row->addStretch();
    m_curve = new ChartPanel(block);
    m_curve->setFixedHeight(kCurveHeight);
    auto* curve = new QVBoxLayout;
    curve->addLayout(row);
    curve->addWidget(m_curve);
    m_curveBlock = plainBlock(curve, block);
    m_table = new DataTable(tr("Answer"), block);
    layout->addWidget(m_curveBlock);
    layout->addWidget(m_table, 1);
    m_curveBlock->hide();
    return block;
}

std::vector<Page::KeyNote> SqlPage::keyNotes() const {
    auto* self = const_cast<SqlPage*>(this);
    return {{tr("Ctrl+Enter"), tr("run the statement"), [self] { self->run(); }},
            {tr("Ctrl+Space"), tr("complete a table, a column or a word")}};
}

std::vector<Page::Text> SqlPage::texts() const {
    if (!hasRecording()) return {};
    return {{tr("Statement (SQL)"), tr("what the editor holds"), u"sql"_s,
             m_editor->toPlainText() + u'\n'}};
}

void SqlPage::present() {
    const QString selected = selection().current().cutsTime()
                                 ? tr(":begin_ns and :end_ns are the time of the selection")
                                 : tr(":begin_ns and :end_ns are the time of the whole recording");
    pageFrame().setHeadline(
        tr("Ask the recording in SQL"),
        tr("SELECT only; Ctrl+Space completes tables and columns. %1.").arg(selected));
    if (std::exchange(m_shownRun, recording().summary.run.id) == recording().summary.run.id) return;
    cancel();
    m_answer.reset();
    m_state->setText({});
    m_table->setTable({}, {});
    m_curveBlock->hide();
    m_schema.ask(
        [](auto& reader, const auto&, const auto& generation) {
            storage::CancellableReader cancellable(reader, generation);
            return storage::readSchema(cancellable);
        },
        [this](const std::vector<storage::SchemaTable>& tables) { m_editor->setSchema(tables); });
    // what costs next to nothing is answered at once; what the user has written waits for them
    if (m_editor->toPlainText() == exampleQueries().at(firstQuery())) run();
}

void SqlPage::run() {
    const QString sql = m_editor->toPlainText().trimmed();
    if (!hasRecording() || sql.isEmpty()) return;
    m_asking = sql;
    m_cancel->setEnabled(true);
    m_state->setText(tr("Running…"));
    const TimeRange selected = recording().timeOf(selection().current());
    m_asked.ask(
        [sql = withSelection(sql, selected)](auto& reader, const auto&, const auto& generation) {
            return askSql(reader, sql, generation);
        },
        [this](const SqlAnswerPtr& answer) { showAnswer(answer); });
}

void SqlPage::cancel() {
    m_asked.forget();
    if (std::exchange(m_asking, {}).isEmpty()) return;
    m_cancel->setEnabled(false);
    m_state->setText(tr("Cancelled"));
}

void SqlPage::showAnswer(const SqlAnswerPtr& answer) {
    m_asking.clear();
    m_cancel->setEnabled(false);
    m_state->setText(answer->error.isEmpty() ? answerText(*answer) : answer->error);
    if (!answer->error.isEmpty()) return;  // the answer before stays
    m_answer = answer;
    m_table->setTable(answer->columns, answer->rows);
    const std::vector<int> numbers = answer->numbers();
    giveRoom();
    for (QComboBox* box : {m_across, m_up}) {
        const QSignalBlocker quiet(box);
        const QString before = box->currentText();
        box->clear();
        for (const int column : numbers)
            box->addItem(answer->columns[static_cast<std::size_t>(column)].title, column);
        const int place = box->findText(before);
        box->setCurrentIndex(place >= 0 ? place : box == m_up ? box->count() - 1 : 0);
    }
    showCurve();
}

void SqlPage::giveRoom() {
    const bool any = m_answer && m_answer->numbers().size() > 1 && m_answer->rows.size() > 1;
    m_curveBlock->setVisible(any && height() >= kLeastForCurve);
}

void SqlPage::resizeEvent(QResizeEvent* event) {
    RecordingPage::resizeEvent(event);
    giveRoom();
    showCurve();
}

void SqlPage::showCurve() {
    if (!m_answer || m_curveBlock->isHidden()) return;
    const int across = m_across->currentData().toInt();
    LineSeries line = curveOf(*m_answer, across, m_up->currentData().toInt());
    m_curve->setWholeNumbers(m_answer->isWhole(across));
    line.joined = m_form->currentIndex() == kLine;
    line.dots = !line.joined;
    m_curve->setTitles(m_up->currentText(), {}, m_across->currentText());
    m_curve->setSeries({std::move(line)});
}

void SqlPage::offerQueries(const QString& chosen) {
    const QSignalBlocker quiet(m_queries);
    m_queries->clear();
    for (const auto& [name, sql] : keptQueries(m_settingsFile)) m_queries->addItem(name, true);
    if (m_queries->count() > 0) m_queries->insertSeparator(m_queries->count());
    for (const auto& [name, sql] : exampleQueries()) m_queries->addItem(name, false);
    m_queries->setCurrentIndex(std::max(0, m_queries->findText(chosen)));
    m_forget->setEnabled(m_queries->currentData().toBool());
}

void SqlPage::choose(int index) {
    const QString name = m_queries->itemText(index);
    const bool isKept = m_queries->itemData(index).toBool();
    const Queries queries = isKept ? keptQueries(m_settingsFile) : exampleQueries();
    if (const auto found = queries.find(name); found != queries.end())
        m_editor->setPlainText(found->second);
    m_forget->setEnabled(isKept);
}

void SqlPage::save() {
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Keep the statement"));
    dialog->setLabelText(tr("Under which name? One that is taken is replaced."));
    if (m_queries->currentData().toBool()) dialog->setTextValue(m_queries->currentText());
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& given) {
        const QString name = given.trimmed();
        if (name.isEmpty()) return;
        Queries kept = keptQueries(m_settingsFile);
        kept[name] = m_editor->toPlainText();
        keepQueries(m_settingsFile, kept);
        offerQueries(name);
    });
    dialog->open();
}

void SqlPage::forget() {
    Queries kept = keptQueries(m_settingsFile);
    kept.erase(m_queries->currentText());
    keepQueries(m_settingsFile, kept);
    offerQueries({});
}

}  // namespace shardscope::desktop

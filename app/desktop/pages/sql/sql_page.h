// SQL: questions that no page asks, about the open recording; the answer as a table and as a curve.
// GUI thread; statements run on the loader's.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/recording_page.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/read/schema_tables.h"

#include <QPlainTextEdit>
#include <QString>
#include <QStringList>
#include <map>
#include <memory>
#include <string>
#include <vector>

class QComboBox;
class QCompleter;
class QLabel;
class QPushButton;
class QStringListModel;

namespace shardscope::desktop {

class ChartPanel;
class DataTable;

// Answers as tables and curves, queries to begin with and those that the user keeps. Pure, but for
// askSql() (loader thread) and the kept queries (settings file, GUI thread).

/// Rows of an answer that are shown; those beyond are not read.
inline constexpr std::uint64_t kMostSqlRows = 100'000;

struct SqlAnswer {
    std::vector<TableColumn> columns;
    TableRows rows;
    bool cut = false;    ///< there are more rows
    double seconds = 0;  ///< it took
    QString error;       ///< of the statement, a sentence; columns and rows are empty then

    /// Columns that hold numbers.
    [[nodiscard]] std::vector<int> numbers() const;
    /// A column of numbers has no fractions.
    [[nodiscard]] bool isWhole(int column) const;
};
using SqlAnswerPtr = std::shared_ptr<const SqlAnswer>;

/// `:begin_ns` and `:end_ns` of a statement become the time of what is selected.
[[nodiscard]] QString withSelection(const QString& sql, TimeRange selected);
/// What went wrong is part of the answer; kCancelled: a newer one was asked, or none is wanted.
[[nodiscard]] Result<SqlAnswerPtr> askSql(storage::RecordingReader& reader, const QString& sql,
                                          const storage::Generation& generation);
/// Over a column of numbers, by it. Rows without a number in either are left out.
[[nodiscard]] LineSeries curveOf(const SqlAnswer& answer, int x, int y);

/// By name.
using Queries = std::map<QString, QString>;
/// Those that come with the program.
[[nodiscard]] Queries exampleQueries();
/// Of these the one that is answered at once.
[[nodiscard]] QString firstQuery();
/// `file`: an ini file; empty: none are kept.
[[nodiscard]] Queries keptQueries(const QString& file);
void keepQueries(const QString& file, const Queries& queries);

/// A text field that completes words of SQL, tables and columns while one types, or by Ctrl+Space.
class SqlEditor : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit SqlEditor(QWidget* parent = nullptr);
    void setSchema(const std::vector<storage::SchemaTable>& tables);

Q_SIGNALS:
    /// Ctrl+Enter.
    void runRequested();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] QString wordBefore() const;
    void complete(bool asked);
    void insert(const QString& word);

    QCompleter* m_completer;
    QStringListModel* m_words;
};

class SqlPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit SqlPage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    [[nodiscard]] std::vector<Text> texts() const override;
    [[nodiscard]] SqlEditor& editor() const { return *m_editor; }
    [[nodiscard]] DataTable& table() const { return *m_table; }
    void run();

protected:
    void present() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* buildContent();
    QWidget* buildEditor(QWidget* parent);
    QWidget* buildAnswer(QWidget* parent);
    void cancel();
    void showAnswer(const SqlAnswerPtr& answer);
    /// The curve, where there is something to draw and room for it.
    void giveRoom();
    void showCurve();
    void offerQueries(const QString& chosen);
    void choose(int index);
    void save();
    void forget();

    QString m_settingsFile;
    Topic m_schema, m_asked;
    SqlEditor* m_editor = nullptr;
    QComboBox *m_queries = nullptr, *m_across = nullptr, *m_up = nullptr, *m_form = nullptr;
    QPushButton *m_run = nullptr, *m_cancel = nullptr, *m_forget = nullptr;
    QLabel* m_state = nullptr;
    QWidget* m_curveBlock = nullptr;
    ChartPanel* m_curve = nullptr;
    DataTable* m_table = nullptr;
    SqlAnswerPtr m_answer;
    QString m_asking;        ///< the statement that runs; empty: none does
    std::string m_shownRun;  ///< id of the run whose schema is known
};

}  // namespace shardscope::desktop

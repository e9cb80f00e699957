// SQL: questions that no page asks, about the open recording; the answer as a table and as a curve.
// GUI thread; statements run on the loader's.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/recording_page.h"
#include "app/desktop/pages/sql/sql_model.h"

#include <QPlainTextEdit>
#include <QString>
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

/// A text field that completes words of SQL, tables and columns while one types, or by Ctrl+Space.
class SqlEditor : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit SqlEditor(QWidget* parent = nullptr);
    void setSchema(const std::vector<SchemaTable>& tables);

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

private:
    QWidget* buildContent();
    QWidget* buildEditor(QWidget* parent);
    QWidget* buildAnswer(QWidget* parent);
    void cancel();
    void showAnswer(const SqlAnswerPtr& answer);
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

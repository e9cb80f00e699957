// New run, tab "Any program": the command, where it works, what is recorded of it; on the right the
// same as a command line, and the commands that were started before. GUI thread.
#pragma once

#include "app/desktop/pages/newrun/program_form.h"

#include <QWidget>
#include <string_view>
#include <vector>

class QCheckBox;
class QLabel;
class QLayout;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

class BoundField;
class FoldSection;

/// A name, an input and what is said below it: as BoundField, of what is no option of a run.
class NamedInput : public QWidget {
    Q_OBJECT

public:
    /// `input` becomes its own; `help` is a sentence.
    NamedInput(const char* key, const QString& name, const QString& help, QWidget* input,
               QWidget* parent);
    void setNote(const QString& note);
    /// Empty: nothing is wrong.
    void setProblem(const QString& sentence);
    [[nodiscard]] QString below() const;
    [[nodiscard]] const std::string& key() const { return m_key; }
    QPushButton* addButton(const QString& name, const QString& accessibleName);

private:
    void showBelow();

    std::string m_key;
    QWidget* m_input;
    QLayout* m_row;
    QLabel* m_below;
    QString m_note, m_problem;
};

class ProgramTab : public QWidget {
    Q_OBJECT

public:
    /// `settingsFile` keeps the history; empty: nothing is kept.
    ProgramTab(const QString& recordingsFolder, const QString& settingsFile, QWidget* parent);

    [[nodiscard]] ProgramSettings settings() const;
    [[nodiscard]] const ProgramPlan& plan() const { return m_plan; }
    /// Why it cannot be started now; empty: it can.
    [[nodiscard]] QString reason() const;
    /// A run is going: another cannot be started.
    void setBusy(bool busy);
    /// A suggested name says when the run was set up.
    void setMoment(const QString& moment);
    void setCommand(const QString& command);

    [[nodiscard]] QPlainTextEdit* command() const { return m_command; }
    [[nodiscard]] QLineEdit* folder() const { return m_folder; }
    [[nodiscard]] QPlainTextEdit* environment() const { return m_environment; }
    [[nodiscard]] QLineEdit* stepRange() const { return m_stepRange; }
    [[nodiscard]] QLineEdit* name() const { return m_name; }
    [[nodiscard]] QCheckBox* stacks() const { return m_stacks; }
    [[nodiscard]] QListWidget* history() const { return m_history; }
    /// Null: there is none of this key.
    [[nodiscard]] NamedInput* named(std::string_view key) const;
    [[nodiscard]] BoundField* field(std::string_view key) const;

Q_SIGNALS:
    void startRequested(const shardscope::run::RunConfig& recording, const QStringList& arguments);

private:
    QWidget* buildForm();
    QWidget* buildSide();
    QLayout* buildActions();
    void addInput(FoldSection* section, NamedInput* input);
    void addOption(FoldSection* section, const char* key, int span);
    void chooseFolder();
    void refresh();
    void suggestOutput();
    void showProblems();
    void showHistory();
    void useEarlier(int row);
    void removeEarlier();
    void start();

    QString m_outputFolder, m_settingsFile, m_moment;
    ProgramPlan m_plan;
    std::vector<EarlierProgram> m_earlier;
    std::vector<NamedInput*> m_inputs;
    std::vector<BoundField*> m_fields;
    FoldSection* m_rare = nullptr;
    QPlainTextEdit* m_command = nullptr;
    QLineEdit* m_folder = nullptr;
    QPlainTextEdit* m_environment = nullptr;
    QLineEdit* m_stepRange = nullptr;
    QLineEdit* m_name = nullptr;
    QCheckBox* m_stacks = nullptr;
    QLabel* m_line = nullptr;
    QListWidget* m_history = nullptr;
    QLabel* m_noHistory = nullptr;
    QPushButton* m_use = nullptr;
    QPushButton* m_remove = nullptr;
    QLabel* m_reason = nullptr;
    QPushButton* m_start = nullptr;
    bool m_busy = false;
    bool m_outputEdited = false;
    bool m_filling = true;
};

}  // namespace shardscope::desktop

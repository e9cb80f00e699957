// New run: the form of a run on the left, on the right what it will need, live as one types, and
// the same as a command line; below, what keeps it from starting. A second tab starts any program
// (program_tab.h). GUI thread.
#pragma once

#include "app/desktop/pages/newrun/run_form.h"
#include "app/desktop/pages/newrun/run_sources.h"
#include "app/desktop/pages/page.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

class QLabel;
class QLayout;
class QLineEdit;
class QPushButton;
class QStackedWidget;
class QTabBar;

namespace shardscope::desktop {

class Banner;
class BoundField;
class DetailList;
class FoldSection;
class HostsPanel;
class Legend;
class NamedInput;
class ProgramTab;
class StackedBars;

class NewRunPage : public Page {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit NewRunPage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] run::RunConfig config() const;
    /// What the form has no field for stays and comes out of config() again.
    void setConfig(const run::RunConfig& config);
    void fillIn(const run::RunConfig& config) override;
    /// A run is going: another cannot be started.
    void setBusy(bool busy);
    [[nodiscard]] const RunPrediction& prediction() const { return m_prediction; }
    /// Why a run cannot be started now, as it stands beside the button; empty: it can.
    [[nodiscard]] QString reason() const;
    /// Null: there is no field of this key.
    [[nodiscard]] BoundField* field(std::string_view key) const;
    [[nodiscard]] const std::vector<FoldSection*>& sections() const { return m_sections; }
    /// What the run is called: no setting, and so in no config.
    [[nodiscard]] NamedInput* name() const { return m_name; }
    [[nodiscard]] HostsPanel* hosts() const { return m_hosts; }
    /// Of its text the settings are shown that have it, the closest first; empty: all.
    [[nodiscard]] QLineEdit* finder() const { return m_find; }
    /// What was found: a section of its own.
    [[nodiscard]] const FoldSection& found() const { return *m_found; }
    /// A training of ours, and any program.
    [[nodiscard]] QTabBar* tabs() const { return m_tabs; }
    [[nodiscard]] ProgramTab* program() const { return m_program; }

    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    QLayout* buildTabs();
    QWidget* buildTraining();
    QWidget* buildForm(QWidget* parent);
    FoldSection* addSection(QWidget* form, const QString& title, bool open);
    void addSection(QWidget* form, const run::OptionSectionWords& words);
    void addField(FoldSection* section, const run::RunOption& option);
    void addName(FoldSection* section);
    [[nodiscard]] QString runName() const;
    void addChooser(BoundField* path, bool folder);
    void connectFields();
    QWidget* buildPrediction(QWidget* parent);
    QLayout* buildActions();

    void find(const QString& text);
    void choosePreset();
    void chooseStrategy();
    void takeCheckpoint();
    void saveRunFile();
    void tune();
    void refresh();
    void suggestOutput();
    /// What is wrong, by key of the field that says it.
    [[nodiscard]] std::map<std::string, QString> fieldProblems(const SourceFacts* facts) const;
    [[nodiscard]] QString whyNotStart(const SourceFacts* facts) const;
    void showFields(const run::RunConfig& config, const SourceFacts* facts);
    void showNotes(const run::RunConfig& config, const SourceFacts* facts);
    void showSummaries(const run::RunConfig& config);
    void showPrediction();

    QString m_outputFolder;
    QString m_moment;
    MachineFacts m_machine;
    RunPrediction m_prediction;
    RunSources m_sources;
    run::RunConfig m_base;  ///< the configuration that the fields were filled from
    bool m_busy = false;
    bool m_outputEdited = false;
    bool m_filling = true;  ///< by us, until the first config stands

    QTabBar* m_tabs = nullptr;
    QLineEdit* m_find = nullptr;
    QLabel* m_notFound = nullptr;
    QStackedWidget* m_kinds = nullptr;
    ProgramTab* m_program = nullptr;
    std::vector<FoldSection*> m_sections;
    FoldSection* m_found = nullptr;
    std::vector<BoundField*> m_fields;  ///< in the order of the form
    NamedInput* m_name = nullptr;
    QLineEdit* m_nameLine = nullptr;
    HostsPanel* m_hosts = nullptr;
    QPushButton* m_takeSettings = nullptr;
    QLabel* m_headline = nullptr;
    QLabel* m_memoryTitle = nullptr;
    QLabel* m_command = nullptr;
    QLabel* m_reason = nullptr;
    Banner* m_warning = nullptr;
    StackedBars* m_memory = nullptr;
    Legend* m_legend = nullptr;
    DetailList* m_traffic = nullptr;
    QPushButton* m_tune = nullptr;
    QPushButton* m_start = nullptr;
};

}  // namespace shardscope::desktop

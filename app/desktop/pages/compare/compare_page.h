// Compare: the open recording against others, with a verdict. GUI thread.
#pragma once

#include "app/desktop/models/compared_files.h"
#include "app/desktop/pages/compare/compare_model.h"
#include "app/desktop/pages/compare/stack_panel.h"
#include "app/desktop/pages/recording_page.h"

#include <QStringList>
#include <optional>
#include <vector>

class QComboBox;
class QGridLayout;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QSpinBox;
class QVBoxLayout;

namespace shardscope::desktop {

class Card;
class ChartPanel;
class DataTable;
class Legend;
class MessageState;
class MirroredBars;
class StackedBars;
class StackPanel;
class StepTimelines;

class ComparePage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit ComparePage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    /// What is shown; null: nothing yet.
    [[nodiscard]] const ComparisonPtr& comparison() const { return m_comparison; }
    /// An answer is on its way.
    [[nodiscard]] bool isReading() const override {
        return m_isReading || m_isReadingSteps || m_isReadingStacks || readsTimelines();
    }
    void swap();

protected:
    void present() override;
    void addWays(MessageState& empty) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    static constexpr int kCardCount = 6;

    // compare_content.cpp
    QWidget* buildContent();
    QWidget* buildSides(QWidget* parent);
    QWidget* buildFull(QWidget* parent);
    void addSteps(QVBoxLayout& layout);
    void addDifferences(QVBoxLayout& layout);
    void buildControls();
    // compare_page.cpp
    void placeCards();
    void chooseOther();
    void openToCompare(const QStringList& files);
    void offerRecent();
    /// The open recording and the others, without those that cannot be read here.
    [[nodiscard]] QStringList comparable();
    [[nodiscard]] std::optional<CompareQuery> queryNow();
    void ask(const CompareQuery& query);
    void take(const Result<ComparisonPtr>& made);
    void askForSteps();
    void presentTimelines();
    [[nodiscard]] bool readsTimelines() const;
    void askForStacks(std::optional<questions::StackKind> wanted);
    /// No answer comes about steps and stacks.
    void forgetEvidence();
    void showStep(int bar);
    void presentSides();
    void presentControls();
    void presentComparison();
    void presentCards();
    void presentSteps();
    void presentDifferences();
    void presentLosses();
    void say(const QString& text);

    RecordingLoader& m_loader;
    ComparedFiles& m_files;
    OtherRecordings m_readers{"compare"};
    QString m_recentFile;
    QStringList m_lastTwo;  ///< that were opened and are still there, the older one first

    QString m_judged;  ///< file of the run that is judged; empty: the last of the others
    bool m_anyway = false;
    bool m_isReading = false, m_isReadingSteps = false, m_isReadingStacks = false;
    std::optional<CompareQuery> m_asked;
    bool m_askedFinished = false;  ///< the open recording was, when it was asked about
    QString m_failure;             ///< of what was asked
    ComparisonPtr m_comparison;
    StepsPtr m_steps;
    std::vector<StepBars::Origin> m_barOrigins;

    QPushButton *m_swap = nullptr, *m_add = nullptr;
    QPushButton *m_compareRecent = nullptr, *m_compareTwo = nullptr;  ///< of the empty page
    QComboBox* m_choice = nullptr;
    QWidget* m_sides = nullptr;
    QHBoxLayout* m_sideLayout = nullptr;
    QLabel* m_note = nullptr;
    MessageState *m_none = nullptr, *m_refused = nullptr;
    QLabel* m_warnings = nullptr;
    QWidget* m_full = nullptr;
    QGridLayout* m_cardGrid = nullptr;
    int m_cardColumns = 0;
    std::vector<Card*> m_cards;
    QWidget *m_ledgerBlock = nullptr, *m_stepBlock = nullptr, *m_differenceBlock = nullptr;
    MirroredBars* m_ledger = nullptr;
    QHBoxLayout* m_stepChoice = nullptr;
    std::vector<QSpinBox*> m_stepBoxes;
    StackedBars* m_stepBars = nullptr;
    Legend* m_stepLegend = nullptr;
    StepTimelines* m_timelines = nullptr;
    StackPanel* m_stackPanel = nullptr;
    QComboBox* m_table = nullptr;
    DataTable *m_differences = nullptr, *m_figures = nullptr;
    ChartPanel* m_losses = nullptr;
};

}  // namespace shardscope::desktop

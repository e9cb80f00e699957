// Problems: everything that limits trust in a recording or asks for something to be done, what was
// checked, and the evidence. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/problems/problems_model.h"
#include "app/desktop/pages/recording_page.h"

#include <QWidget>
#include <memory>
#include <vector>

class QComboBox;
class QPushButton;
class QVBoxLayout;
class QGridLayout;

namespace shardscope::desktop {

class CheckList;
class DataTable;
class DetailList;
class FindingList;

class ProblemsPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit ProblemsPage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    [[nodiscard]] const ProblemsView& view() const { return m_view; }
    [[nodiscard]] std::vector<Text> texts() const override;

protected:
    void present() override;

private:
    using AnswerPtr = std::shared_ptr<const questions::Answer>;

    QWidget* buildContent();
    void buildControls();
    void askForTrust();
    void presentLists();
    void presentEvidence();
    void addTable(const questions::Table& table);
    void showRow(const questions::Table& table, int row);
    void copyAll() const;
    [[nodiscard]] ProblemFilter filter() const;

    QComboBox *m_scope = nullptr, *m_filter = nullptr;
    QPushButton* m_export = nullptr;
    QWidget* m_notices = nullptr;
    QVBoxLayout* m_noticeLayout = nullptr;
    CheckList* m_checks = nullptr;
    QWidget *m_evidence = nullptr, *m_import = nullptr;
    QVBoxLayout* m_evidenceLayout = nullptr;
    DetailList* m_importFacts = nullptr;

    Topic m_asked;
    PartPtr m_shown;    ///< that the page is of: all of the recording, or what is selected
    AnswerPtr m_trust;  ///< of m_shown; null: on its way
    ProblemsView m_view;
};

// What was checked, one below the other: a mark, what, the state in a word, what was found.
// GUI thread.

class CheckList : public QWidget {
    Q_OBJECT

public:
    explicit CheckList(QWidget* parent = nullptr);
    void setChecks(const std::vector<CheckRow>& checks);

private:
    QGridLayout* m_layout;
};

}  // namespace shardscope::desktop

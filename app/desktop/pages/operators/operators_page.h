// What ran, for how long, and within what: operators, kernels, stacks, launches, matrix products.
// GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/operators/operators_model.h"
#include "app/desktop/pages/operators/operators_query.h"
#include "app/desktop/pages/recording_page.h"

#include <QWidget>
#include <vector>

class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QMenu;

namespace shardscope::desktop {

class DataTable;
class FlamePanel;
class LaunchPanel;

class OperatorsPage : public RecordingPage {
    Q_OBJECT

public:
    static PageEntry entry();
    explicit OperatorsPage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;

    [[nodiscard]] FlamePanel& flame() const { return *m_flame; }
    [[nodiscard]] LaunchPanel& launches() const { return *m_launches; }
    [[nodiscard]] DataTable& table() const { return *m_table; }
    [[nodiscard]] QComboBox& tables() const { return *m_choice; }
    [[nodiscard]] const WorkFramePtr& shownWork() const { return m_frame; }

protected:
    void present() override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* buildContent();
    QWidget* buildTables(QWidget* parent);
    void showFrame(const WorkFramePtr& frame);
    void showTable();
    [[nodiscard]] const WorkTable* chosen() const;
    void pickRow(int row);
    void fillMenu(QMenu* menu, int row);
    void showOccurrence(const QString& name, const std::vector<questions::StackKind>& kinds,
                        bool longest);

    Topic m_work, m_occurrence;
    PartPtr m_asked;
    WorkFramePtr m_frame;
    std::vector<WorkTable> m_tables;
    QString m_chosen;  ///< key of the table that the user chose
    FlamePanel* m_flame;
    LaunchPanel* m_launches;
    QComboBox* m_choice;
    QLineEdit* m_filter;
    DataTable* m_table;
    QLabel *m_leftOut, *m_notes;
};

// How much work lay in queue over time, and matrix products against the roofs. GUI thread.

class ChartPanel;

class LaunchPanel : public QWidget {
    Q_OBJECT

public:
    explicit LaunchPanel(QWidget* parent = nullptr);
    void setFrame(const WorkFrame& frame);
    [[nodiscard]] ChartPanel& queue() const { return *m_queue; }
    [[nodiscard]] ChartPanel& roofline() const { return *m_roofline; }
    [[nodiscard]] QString roofNote() const;

Q_SIGNALS:
    void rangeSelected(shardscope::TimeRange range);

private:
    QGridLayout* m_layout;
    ChartPanel *m_queue, *m_roofline;
    QLabel *m_queueNote, *m_roofNote;
};

}  // namespace shardscope::desktop

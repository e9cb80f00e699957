// The flame graph of the page with its switches, and callers and callees of one name. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/operators/operators_query.h"

#include <QWidget>
#include <memory>
#include <optional>

class QCheckBox;
class QBoxLayout;
class QComboBox;
class QLabel;
class QLineEdit;
class QMenu;

namespace shardscope::desktop {

class DataTable;
class FlameGraph;

class FlamePanel : public QWidget {
    Q_OBJECT

public:
    explicit FlamePanel(RecordingLoader& loader, QWidget* parent = nullptr);
    /// Reads its stacks, unless they are the ones that are shown.
    void setPart(const PartPtr& part);
    void showNothing();
    /// Callers and callees of a name, and where it is in the graph; of another kind that is shown
    /// first.
    void showName(const QString& name, const std::vector<questions::StackKind>& kinds);
    void focusSearch();
    [[nodiscard]] FlameGraph& graph() const { return *m_graph; }
    [[nodiscard]] const StacksFramePtr& frame() const { return m_frame; }
    [[nodiscard]] const QString& shownName() const { return m_name; }
    [[nodiscard]] DataTable& callers() const { return *m_callers; }
    [[nodiscard]] DataTable& callees() const { return *m_callees; }

Q_SIGNALS:
    void hoverChanged(const QString& text);
    /// The longest one of a name on the timeline, or the first.
    void occurrenceWanted(const QString& name,
                          const std::vector<shardscope::questions::StackKind>& kinds, bool longest);
    void framePresented();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* buildControls();
    QWidget* buildCalls();
    DataTable* buildCallTable(const QString& title, QWidget* parent);
    void read();
    void present(const StacksFramePtr& frame);
    void presentKinds();
    void reshape();
    void search();
    void noteZoom();
    void pickCell(std::size_t cell);
    void readCalls();
    void presentCalls(const StacksFrame& frame, const NamedCalls& found);
    void fillMenu(QMenu* menu, const QString& name);

    Topic m_stacks, m_shape, m_calls;
    PartPtr m_part;
    std::optional<questions::StackKind> m_kind;  ///< what the user asked for
    StacksFramePtr m_frame;
    QString m_name;  ///< whose callers and callees are shown
    QStringList m_callerNames, m_calleeNames;
    QBoxLayout* m_controls;
    QComboBox *m_kinds, *m_lanes, *m_direction;
    QCheckBox* m_icicle;
    QLineEdit* m_search;
    QLabel *m_found, *m_note, *m_callsTitle;
    FlameGraph* m_graph;
    QWidget* m_callsBlock;
    DataTable *m_callers, *m_callees;
};

}  // namespace shardscope::desktop

// Stacks of what is compared as a differential flame graph, with its switches. GUI thread.
#pragma once

#include "app/desktop/pages/compare/compare_stacks.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QLineEdit;

namespace shardscope::desktop {

class FlameGraph;

class StackPanel : public QWidget {
    Q_OBJECT

public:
    explicit StackPanel(QWidget* parent = nullptr);
    void setStacks(const ComparedStacksPtr& stacks);
    /// Until there are some, or why there are none.
    void showNothing(const QString& why);
    void focusSearch();
    [[nodiscard]] const FlameGraph& graph() const { return *m_graph; }

Q_SIGNALS:
    void kindWanted(shardscope::questions::StackKind kind);
    void hoverChanged(const QString& text);

private:
    QWidget* buildControls();
    void present();
    void search();
    void noteZoom();

    ComparedStacksPtr m_stacks;
    QComboBox *m_kinds, *m_width;
    QLineEdit* m_search;
    QLabel *m_found, *m_note, *m_zoom;
    FlameGraph* m_graph;
};

}  // namespace shardscope::desktop

#include "app/desktop/pages/compare/stack_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/flame_graph.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace shardscope::desktop {

using questions::StackKind;

StackPanel::StackPanel(QWidget* parent) : QWidget(parent) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Stacks, coloured by what changed"), this));
    layout->addWidget(buildControls());
    m_graph = new FlameGraph(this);
    m_graph->setIcicle(true);
    layout->addWidget(m_graph);
    m_zoom = quietLabel({}, this);
    m_note = quietLabel({}, this);
    layout->addWidget(m_zoom);
    layout->addWidget(m_note);
    connect(m_graph, &FlameGraph::hovered, this, &StackPanel::hoverChanged);
    connect(m_graph, &FlameGraph::zoomChanged, this, &StackPanel::noteZoom);
}

QWidget* StackPanel::buildControls() {
    auto* controls = new QWidget(this);
    auto* layout = new QHBoxLayout(controls);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_kinds = new QComboBox(controls);
    m_kinds->setAccessibleName(tr("Of what stacks are compared"));
    m_kinds->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_kinds, &QComboBox::activated, this, [this](int index) {
        Q_EMIT kindWanted(static_cast<StackKind>(m_kinds->itemData(index).toInt()));
    });
    m_width = new QComboBox(controls);
    m_width->addItems({tr("Width by what is judged"), tr("Width by the baseline")});
    m_width->setAccessibleName(tr("What cells are as wide as"));
    m_width->setToolTip(tr("Stacks that one of them has alone are seen by its own widths only."));
    connect(m_width, &QComboBox::activated, this, &StackPanel::present);
    m_search = new QLineEdit(controls);
    m_search->setPlaceholderText(tr("Search names"));
    m_search->setAccessibleName(tr("Search names in the compared stacks"));
    m_search->setMinimumWidth(140);
    m_search->setMaximumWidth(280);
    connect(m_search, &QLineEdit::textChanged, this, &StackPanel::search);
    m_found = quietLabel({}, controls);
    m_found->setWordWrap(false);
    layout->addWidget(m_kinds);
    layout->addWidget(m_width);
    layout->addWidget(m_search, 1);
    layout->addWidget(m_found);
    layout->addStretch(0);
    return controls;
}

void StackPanel::setStacks(const ComparedStacksPtr& stacks) {
    m_stacks = stacks;
    const QSignalBlocker quiet(m_kinds);
    m_kinds->clear();
    for (const StackKind kind : m_stacks->kinds) {
        QString word = QCoreApplication::translate("StackKind", toWord(kind));
        word[0] = word[0].toUpper();
        m_kinds->addItem(word, static_cast<int>(kind));
        if (kind == m_stacks->kind) m_kinds->setCurrentIndex(m_kinds->count() - 1);
    }
    m_kinds->setEnabled(m_kinds->count() > 1);
    present();
}

void StackPanel::showNothing(const QString& why) {
    m_stacks.reset();
    m_graph->setData(std::make_shared<const FlameData>(), {});
    m_zoom->hide();
    m_note->setText(why);
}

void StackPanel::present() {
    if (!m_stacks) return;
    const auto& cells =
        m_stacks->by(m_width->currentIndex() == 0 ? FlameWidth::kJudged : FlameWidth::kBaseline);
    m_graph->setData(cells ? cells : std::make_shared<const FlameData>(),
                     tr("%1, compared").arg(m_kinds->currentText()));
    m_note->setText(m_stacks->note);
    search();
    noteZoom();
}

void StackPanel::search() {
    m_graph->setSearch(m_search->text().trimmed());
    const bool asked = !m_search->text().trimmed().isEmpty();
    m_found->setText(asked ? foundText(m_graph->found()) : QString());
}

void StackPanel::noteZoom() {
    const FlameData& shown = m_graph->shown();
    m_zoom->setVisible(m_stacks != nullptr);
    if (shown.empty())
        return m_zoom->setText(
            tr("Nothing of this kind ran in the one that widths are of, or it was not recorded."));
    QString text = flameText(shown, m_graph->zoomed());
    text += m_graph->zoomed() > 0 ? tr(". Backspace or Esc: out.")
                                  : tr(". ▲ red: more than in the baseline, ▼ green: less, full "
                                       "colour from ±50 % on; not judged against noise.");
    if (m_graph->hiddenRows() > 0)
        text += tr(" %1 deeper rows: zoom in for them.").arg(m_graph->hiddenRows());
    m_zoom->setText(text);
}

void StackPanel::focusSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

}  // namespace shardscope::desktop

#include "app/desktop/pages/timeline/tables/table_panel.h"

#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <initializer_list>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kFilterWidth = 120;
constexpr int kLeastTable = 84;  ///< tabs and two rows
/// Of tabs that are no RangeKind.
constexpr int kFirstOther = 100;

int dataOf(TableTab tab) {
    return kFirstOther + static_cast<int>(tab);
}

QString nameOf(TableTab tab) {
    return tab == TableTab::kFound ? QObject::tr("Found") : QObject::tr("Marks");
}

}  // namespace

TablePanel::TablePanel(QWidget* parent)
    : QWidget(parent),
      m_bar(new QHBoxLayout),
      m_fold(new QToolButton(this)),
      m_tabs(new QTabBar(this)),
      m_hint(quietLabel(tr("click: details · drag: add up a range · ?: all keys"), this)),
      m_caption(quietLabel({}, this)),
      m_filter(new QLineEdit(this)),
      m_table(new DataTable(tr("Events of the selected range by name"), this)) {
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->setAccessibleName(tr("Kinds of events"));
    m_hint->setWordWrap(false);
    m_caption->setWordWrap(false);
    m_caption->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_caption->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_caption->installEventFilter(this);
    m_filter->setPlaceholderText(tr("Filter"));
    m_filter->setAccessibleName(tr("Filter the table"));
    m_filter->setFixedWidth(kFilterWidth);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap / 2);
    m_fold->setAutoRaise(true);
    m_fold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    connect(m_fold, &QToolButton::clicked, this, [this] { Q_EMIT foldRequested(!m_isFolded); });
    m_bar->setSpacing(kGapGroup);
    m_bar->addWidget(m_fold);
    m_bar->addWidget(m_tabs);
    m_bar->addWidget(m_caption, 1);
    m_bar->addWidget(m_filter);
    m_bar->addWidget(m_hint);
    layout->addLayout(m_bar);
    layout->addWidget(m_table, 1);
    connect(m_tabs, &QTabBar::currentChanged, this, &TablePanel::changeTab);
    connect(m_filter, &QLineEdit::textChanged, m_table->table(), &TableModel::setFilter);
    presentFold();
}

void TablePanel::presentFold() {
    m_fold->setArrowType(m_isFolded ? Qt::RightArrow : Qt::DownArrow);
    m_fold->setText(m_isFolded ? tr("Tables") : QString());
    m_fold->setAccessibleName(m_isFolded ? tr("Show the tables") : tr("Hide the tables"));
    m_fold->setToolTip(m_isFolded ? tr("What events add up to, by name, in the selected range (B)")
                                  : tr("Gives the lanes the room (B)"));
    for (QWidget* each : std::initializer_list<QWidget*>{m_tabs, m_caption, m_filter, m_table})
        each->setVisible(!m_isFolded);
    giveRoom();
}

/// Folded it is as high as the legend needs; the hint stands where that leaves room for it.
void TablePanel::giveRoom() {
    const int room = width() - m_fold->sizeHint().width() - 2 * m_bar->spacing();
    m_hint->setVisible(m_isFolded && m_beside != nullptr &&
                       m_beside->lineWidth() + m_hint->sizeHint().width() <= room);
    const int folded = std::max(m_bar->sizeHint().height(),
                                m_beside == nullptr ? 0 : m_beside->heightForWidth(room));
    setMinimumHeight(m_isFolded ? folded : kLeastTable);
    setMaximumHeight(m_isFolded ? folded : QWIDGETSIZE_MAX);
}

void TablePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    giveRoom();
}

void TablePanel::fold(Legend* beside) {
    m_isFolded = true;
    m_beside = beside;
    m_bar->insertWidget(m_bar->indexOf(m_hint), beside, 1);
    presentFold();
}

void TablePanel::unfold() {
    m_isFolded = false;
    m_beside = nullptr;
    presentFold();
}

void TablePanel::setKinds(const std::vector<RangeKind>& kinds, bool keeps) {
    const QSignalBlocker quiet(m_tabs);
    std::vector<TableTab> others;
    for (TableTab tab : {TableTab::kFound, TableTab::kMarks})
        if (indexOf(tab) >= 0) others.push_back(tab);
    while (m_tabs->count() > 0) m_tabs->removeTab(0);
    int current = 0;
    for (RangeKind kind : kinds) {
        const int at = m_tabs->addTab(rangeKindName(kind));
        m_tabs->setTabData(at, static_cast<int>(kind));
        if (keeps && kind == m_kind) current = at;
    }
    for (TableTab tab : others) addTab(tab);
    if (kinds.empty()) return;
    m_tabs->setCurrentIndex(current);
    m_tabs->updateGeometry();  // it does not notify its layout while hidden
    m_kind = kinds[static_cast<std::size_t>(current)];
}

void TablePanel::changeTab(int index) {
    if (index < 0) return;
    const int code = m_tabs->tabData(index).toInt();
    if (code < kFirstOther) m_kind = static_cast<RangeKind>(code);
    m_filter->clear();
    Q_EMIT tabChanged();
}

int TablePanel::indexOf(TableTab tab) const {
    for (int i = 0; i < m_tabs->count(); ++i)
        if (m_tabs->tabData(i).toInt() == dataOf(tab)) return i;
    return -1;
}

TableTab TablePanel::tab() const {
    const int code = m_tabs->tabData(m_tabs->currentIndex()).toInt();
    return code < kFirstOther ? TableTab::kRange : static_cast<TableTab>(code - kFirstOther);
}

void TablePanel::addTab(TableTab tab) {
    if (indexOf(tab) >= 0) return;
    const QSignalBlocker quiet(m_tabs);
    m_tabs->setTabData(m_tabs->addTab(nameOf(tab)), dataOf(tab));
    m_tabs->updateGeometry();
}

void TablePanel::showTab(TableTab tab) {
    addTab(tab);
    m_tabs->setCurrentIndex(indexOf(tab));
}

void TablePanel::showKind(RangeKind kind) {
    for (int i = 0; i < m_tabs->count(); ++i)
        if (m_tabs->tabData(i).toInt() == static_cast<int>(kind)) m_tabs->setCurrentIndex(i);
}

void TablePanel::dropTab(TableTab tab) {
    if (const int at = indexOf(tab); at >= 0) m_tabs->removeTab(at);
}

void TablePanel::setCaption(const QString& caption) {
    m_captionText = caption;
    if (m_tabs->count() > 0) m_table->setAccessibleName(m_tabs->tabText(m_tabs->currentIndex()));
    m_table->setAccessibleDescription(caption);
    m_caption->setToolTip(caption);
    fitCaption();
}

/// What does not fit is said on hover.
void TablePanel::fitCaption() {
    m_caption->setText(
        m_caption->fontMetrics().elidedText(m_captionText, Qt::ElideRight, m_caption->width()));
}

bool TablePanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_caption && event->type() == QEvent::Resize) fitCaption();
    return QWidget::eventFilter(watched, event);
}

void TablePanel::setFilter(const QString& text) {
    m_filter->setText(text);
}

}  // namespace shardscope::desktop

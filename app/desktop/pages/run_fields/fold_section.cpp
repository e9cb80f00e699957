#include "app/desktop/pages/run_fields/fold_section.h"

#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

FoldSection::FoldSection(const QString& title, bool open, QWidget* parent)
    : QWidget(parent),
      m_heading(new QToolButton(this)),
      m_summary(quietLabel({}, this)),
      m_body(new QWidget(this)),
      m_grid(new QGridLayout(m_body)) {
    m_heading->setText(title);
    m_heading->setAccessibleName(title);
    m_heading->setFont(textFont(kTextPixels, QFont::DemiBold));
    m_heading->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_heading->setIconSize({12, 12});
    m_heading->setCheckable(true);
    m_heading->setChecked(open);
    m_heading->setFocusPolicy(Qt::StrongFocus);
    m_heading->setProperty("heading", true);
    m_summary->setFont(textFont(kSmallPixels - 1));
    m_summary->setContentsMargins(20, 0, 0, 0);  // under the heading's words
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(12);
    m_grid->setVerticalSpacing(kGapSmall);
    for (int column = 0; column < kColumns; ++column) m_grid->setColumnStretch(column, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, kGap);
    layout->setSpacing(2);
    layout->addWidget(m_heading, 0, Qt::AlignLeft);
    layout->addWidget(m_summary);
    layout->addWidget(m_body);
    connect(m_heading, &QToolButton::toggled, this, &FoldSection::showState);
    showState();
}

void FoldSection::add(QWidget* field, int span) {
    if (m_column + span > kColumns) {
        m_column = 0;
        ++m_row;
    }
    m_places.push_back({field, m_row, m_column, span});
    m_grid->addWidget(field, m_row, m_column, 1, span);
    m_column += span;
}

void FoldSection::addField(BoundField* field, int span) {
    add(field, span);
    m_fields.push_back(field);
}

bool FoldSection::isOpen() const {
    return m_heading->isChecked();
}

void FoldSection::setOpen(bool open) {
    m_heading->setChecked(open);
}

void FoldSection::takeBack() {
    for (const Place& place : m_places) {
        if (place.widget->parentWidget() == m_body) continue;
        m_grid->addWidget(place.widget, place.row, place.column, 1, place.span);
        place.widget->show();
    }
}

void FoldSection::forget() {
    m_places.clear();
    m_fields.clear();
    m_row = m_column = 0;
}

void FoldSection::setSummary(const QString& summary) {
    m_summary->setText(summary);
}

QString FoldSection::summary() const {
    return m_summary->text();
}

void FoldSection::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) showState();
}

void FoldSection::showState() {
    const bool open = isOpen();
    m_body->setVisible(open);
    m_summary->setVisible(!open);
    m_heading->setToolTip(open ? tr("Fold this section") : tr("Unfold this section"));
    m_heading->setAccessibleDescription(open ? tr("unfolded") : tr("folded"));
    m_heading->setIcon(
        tintedIcon(open ? u"unfolded"_s : u"forward"_s, Theme::of(this).quietText, 12));
}

}  // namespace shardscope::desktop

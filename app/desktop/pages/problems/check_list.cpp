#include "app/desktop/pages/problems/check_list.h"

#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>

namespace shardscope::desktop {
namespace {

using analysis::CheckState;

/// A tick, a filled square, a hollow circle: shape before colour.
class StateMark : public QWidget {
public:
    StateMark(CheckState state, QWidget* parent) : QWidget(parent), m_state(state) {
        setFixedSize(16, 18);
        setAccessibleName(QString::fromLatin1(toWord(state)));
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        if (m_state == CheckState::kFine) {
            painter.setPen(QPen(theme.good, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
            painter.drawPolyline(QPolygonF{{3, 9.5}, {6.5, 13}, {12.5, 5.5}});
        } else if (m_state == CheckState::kProblem) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.bad);
            painter.drawRect(QRectF(4, 5.5, 7.5, 7.5));
        } else {
            painter.setPen(QPen(theme.quietText, 1.6));
            painter.drawEllipse(QPointF(7.75, 9.25), 4, 4);
        }
    }

private:
    CheckState m_state;
};

}  // namespace

CheckList::CheckList(QWidget* parent) : QWidget(parent), m_layout(new QGridLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(12);
    m_layout->setVerticalSpacing(6);
    m_layout->setColumnStretch(3, 1);
}

void CheckList::setChecks(const std::vector<CheckRow>& checks) {
    while (QLayoutItem* item = m_layout->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    int row = 0;
    for (const CheckRow& check : checks) {
        const QString state = QString::fromLatin1(toWord(check.state));
        auto* what = new QLabel(check.what, this);
        auto* word = sectionLabel(state, this);
        auto* found = quietLabel(breakable(check.found), this);
        found->setTextInteractionFlags(Qt::TextSelectableByMouse);
        what->setAccessibleName(check.what + QStringLiteral(": ") + state);
        m_layout->addWidget(new StateMark(check.state, this), row, 0, Qt::AlignTop);
        m_layout->addWidget(what, row, 1, Qt::AlignTop);
        m_layout->addWidget(word, row, 2, Qt::AlignTop);
        m_layout->addWidget(found, row, 3);
        ++row;
    }
}

}  // namespace shardscope::desktop

#include "app/desktop/widgets/finding_list.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLayoutItem>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

/// Filled for problems and warnings, hollow for notes: shape before colour.
class SeverityMark : public QWidget {
public:
    SeverityMark(Severity severity, QWidget* parent) : QWidget(parent), m_severity(severity) {
        setFixedSize(12, 20);
        setAccessibleName(QString::fromLatin1(toWord(severity)));
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        const QColor colour = m_severity == Severity::kProblem   ? theme.bad
                              : m_severity == Severity::kWarning ? theme.warning
                                                                 : theme.quietText;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(colour, 1.6));
        painter.setBrush(m_severity == Severity::kNote ? QBrush(Qt::NoBrush) : QBrush(colour));
        const QPointF centre(5.5, 10);
        if (m_severity == Severity::kProblem) {
            painter.drawRect(QRectF(centre.x() - 3.5, centre.y() - 3.5, 7, 7));
        } else {
            painter.drawEllipse(centre, 3.8, 3.8);
        }
    }

private:
    Severity m_severity;
};

QLabel* wordsOf(const Finding& finding, QWidget* parent) {
    QString text = QString::fromLatin1(toWord(finding.severity));
    if (finding.count > 1) text += FindingList::tr(", count %1").arg(formatCount(finding.count));
    QLabel* label = quietLabel(text, parent);
    label->setWordWrap(false);
    return label;
}

}  // namespace

FindingList::FindingList(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(kGap);
}

void FindingList::setFindings(const std::vector<Finding>& findings,
                              const std::vector<QString>& verdicts) {
    while (QLayoutItem* item = m_layout->takeAt(0)) {
        if (item->widget() != nullptr) item->widget()->deleteLater();
        delete item;
    }
    for (const Finding& finding : findings) {
        m_layout->addWidget(rowOf(finding));
        m_layout->addWidget(hairline(this));
    }
    for (const QString& verdict : verdicts)
        m_layout->addWidget(quietLabel(breakable(verdict), this));
}

QWidget* FindingList::rowOf(const Finding& finding) {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(new SeverityMark(finding.severity, row), 0, Qt::AlignTop);
    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    auto* title = sectionLabel(breakable(finding.title), row);
    title->setWordWrap(true);
    // what is only to be known does not outweigh what is to be done
    if (finding.severity == Severity::kNote) title->setFont(textFont(kTextPixels));
    words->addWidget(title);
    if (const QString said = finding.words(); !said.isEmpty())
        words->addWidget(quietLabel(breakable(said), row));
    layout->addLayout(words, 1);
    if (m_namesSeverity) layout->addWidget(wordsOf(finding, row), 0, Qt::AlignTop);
    if (!finding.page.isEmpty()) {
        auto* show = new QPushButton(tr("Show me"), row);
        show->setProperty("link", true);
        show->setAccessibleName(tr("Show: %1").arg(finding.title));
        connect(show, &QPushButton::clicked, this,
                [this, finding] { Q_EMIT evidenceRequested(finding); });
        layout->addWidget(show, 0, Qt::AlignTop);
    }
    return row;
}

}  // namespace shardscope::desktop

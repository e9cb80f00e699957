#include "app/desktop/pages/training/target_line.h"

#include "app/desktop/models/targets.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

}  // namespace

TargetLine::TargetLine(const Targets& targets, QWidget* parent) : QWidget(parent) {
    auto* line = new QHBoxLayout(this);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(32);
    const std::array<double, 3> shares{targets.mfu, targets.scaling, targets.communication};
    const std::array<QString, 3> names{tr("Target of MFU, at least"),
                                       tr("Target of scaling, at least"),
                                       tr("Target of communication, at most")};
    for (std::size_t i = 0; i < shares.size(); ++i) {
        auto* column = new QVBoxLayout;
        column->setSpacing(kGapSmall);
        m_labels[i] = new QLabel(this);
        m_labels[i]->setWordWrap(true);
        m_values[i] = new QDoubleSpinBox(this);
        m_values[i]->setRange(1, 100);
        m_values[i]->setDecimals(0);
        m_values[i]->setPrefix(i < 2 ? tr("target ≥ ") : tr("target ≤ "));
        m_values[i]->setSuffix(u"\u2009%"_s);
        m_values[i]->setValue(shares[i] * 100);
        m_values[i]->setAccessibleName(names[i]);
        m_values[i]->setButtonSymbols(QAbstractSpinBox::NoButtons);
        m_values[i]->setFixedWidth(112);
        m_values[i]->setFocusPolicy(Qt::StrongFocus);
        connect(m_values[i], &QDoubleSpinBox::valueChanged, this,
                [this] { Q_EMIT targetsChanged(this->targets()); });
        column->addWidget(m_labels[i]);
        column->addWidget(m_values[i], 0, Qt::AlignLeft);
        line->addLayout(column, 1);
    }
}

Targets TargetLine::targets() const {
    return {m_values[0]->value() / 100, m_values[1]->value() / 100, m_values[2]->value() / 100};
}

void TargetLine::setRows(const std::vector<TargetRow>& rows) {
    for (std::size_t i = 0; i < m_labels.size() && i < rows.size(); ++i) {
        QString text = rows[i].name + u": "_s + rows[i].value;
        if (rows[i].verdict)
            text += u"   "_s + (rows[i].unsure            ? unsureWord()
                                : rows[i].verdict->passes ? u"PASS"_s
                                                          : u"FAIL"_s);
        m_labels[i]->setText(text);
    }
}

}  // namespace shardscope::desktop

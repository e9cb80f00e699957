// Findings one below the other: severity mark, sentence, detail, "Show me". GUI thread.
#pragma once

#include "app/desktop/models/findings.h"

#include <QWidget>
#include <vector>

class QVBoxLayout;

namespace shardscope::desktop {

class FindingList : public QWidget {
    Q_OBJECT

public:
    explicit FindingList(QWidget* parent = nullptr);
    /// Whether severity and count are words of a row too, beside its mark; before setFindings().
    void setNamesSeverity(bool names) { m_namesSeverity = names; }
    /// `verdicts` come after them, a line each.
    void setFindings(const std::vector<Finding>& findings, const std::vector<QString>& verdicts);

Q_SIGNALS:
    void evidenceRequested(const shardscope::desktop::Finding& finding);

private:
    QWidget* rowOf(const Finding& finding);

    QVBoxLayout* m_layout;
    bool m_namesSeverity = false;
};

}  // namespace shardscope::desktop

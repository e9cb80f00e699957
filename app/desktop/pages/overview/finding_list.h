// Findings one below the other: severity mark, sentence, detail, "Show me". GUI thread.
#pragma once

#include "app/desktop/pages/overview/overview_model.h"

#include <QWidget>
#include <vector>

class QVBoxLayout;

namespace shardscope::desktop {

class FindingList : public QWidget {
    Q_OBJECT

public:
    explicit FindingList(QWidget* parent = nullptr);
    /// `verdicts` come after them, a line each.
    void setFindings(const std::vector<Finding>& findings, const std::vector<QString>& verdicts);

Q_SIGNALS:
    void evidenceRequested(const QString& page, const shardscope::desktop::Selection& selection);

private:
    QWidget* rowOf(const Finding& finding);

    QVBoxLayout* m_layout;
};

}  // namespace shardscope::desktop

// What was checked, one below the other: a mark, what, the state in a word, what was found.
// GUI thread.
#pragma once

#include "app/desktop/pages/problems/problems_model.h"

#include <QWidget>
#include <vector>

class QGridLayout;

namespace shardscope::desktop {

class CheckList : public QWidget {
    Q_OBJECT

public:
    explicit CheckList(QWidget* parent = nullptr);
    void setChecks(const std::vector<CheckRow>& checks);

private:
    QGridLayout* m_layout;
};

}  // namespace shardscope::desktop

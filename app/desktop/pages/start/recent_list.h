// Recent recordings as rows: name, facts, trend of the loss. Missing files are greyed and say
// so. GUI thread.
#pragma once

#include "app/desktop/pages/start/recent_files.h"

#include <QWidget>
#include <vector>

class QVBoxLayout;

namespace shardscope::desktop {

class RecentList : public QWidget {
    Q_OBJECT

public:
    explicit RecentList(QWidget* parent = nullptr);
    void setFiles(const std::vector<RecentFile>& files);

Q_SIGNALS:
    void chosen(const QString& path);
    void removeRequested(const QString& path);

private:
    void showMenu(const QString& path, QPoint at);

    QVBoxLayout* m_layout;
};

}  // namespace shardscope::desktop

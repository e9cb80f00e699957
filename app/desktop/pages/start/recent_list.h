// Recent recordings as rows: name, facts, trend of the loss. Missing files are greyed and say
// so. GUI thread.
#pragma once

#include "app/desktop/pages/recent_files.h"

#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

class QVBoxLayout;

namespace shardscope::desktop {

class RecentList : public QWidget {
    Q_OBJECT

public:
    explicit RecentList(QWidget* parent = nullptr);
    void setFiles(const std::vector<RecentFile>& files);
    /// Rows that were marked by Ctrl+click or Ctrl+Space, to be compared; in the order of the list.
    [[nodiscard]] QStringList marked() const;

Q_SIGNALS:
    void chosen(const QString& path);
    void markedChanged();
    void compareRequested(const QString& path);
    void removeRequested(const QString& path);

private:
    void showMenu(const QString& path, QPoint at);

    QVBoxLayout* m_layout;
    QStringList m_files, m_marked;
};

}  // namespace shardscope::desktop

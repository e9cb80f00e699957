// Start: recent recordings on the left, what one can do on the right. GUI thread.
#pragma once

#include "app/desktop/models/recent_files.h"

#include <QWidget>

namespace shardscope::desktop {

class Banner;
class RecentList;

class StartPage : public QWidget {
    Q_OBJECT

public:
    /// `recent` outlives the page.
    explicit StartPage(RecentFiles& recent, QWidget* parent = nullptr);
    /// Why the last file could not be opened; empty: forget it.
    void showProblem(const QString& text);

Q_SIGNALS:
    void openRequested();
    void newRunRequested();
    void fileChosen(const QString& path);

private:
    QWidget* buildActions(QWidget* parent);

    RecentFiles& m_recent;
    Banner* m_banner;
    RecentList* m_list;
};

}  // namespace shardscope::desktop

// Start: recent recordings on the left, what one can do on the right. GUI thread.
#pragma once

#include "app/desktop/pages/page.h"
#include "app/desktop/pages/start/recent_list.h"

namespace shardscope::desktop {

class Banner;
class RecentList;

class StartPage : public Page {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit StartPage(PageContext& context, QWidget* parent = nullptr);

private:
    void follow(RecordingLoader& loader, bool remembers);
    void follow(RecorderSession& session);
    QWidget* buildActions(QWidget* parent);
    /// Null: nothing was open lately, or it is gone.
    QWidget* buildContinue(const QString& settingsFile, QWidget* parent);
    void makeSample();
    /// Those marked in the list; else asks for files.
    void compareTwo();
    void compare(const QStringList& paths);

    ComparedFiles& m_compared;
    RecentFiles m_recent;
    Banner* m_banner;
    RecentList* m_list;
    QWidget* m_continue;
    QString m_recordings;        ///< where the sample goes
    bool m_isImporting = false;  ///< what is open
};

}  // namespace shardscope::desktop

// Renders one page into a PNG without a display: waits until the loader has answered all
// questions, grabs the window, ends the program. GUI thread.
#pragma once

#include <QObject>
#include <QString>

namespace shardscope::desktop {

class MainWindow;

class ScreenshotJob : public QObject {
    Q_OBJECT

public:
    /// `window` outlives the job.
    ScreenshotJob(MainWindow& window, const QString& path, QObject* parent = nullptr);
    void start();

Q_SIGNALS:
    /// With the process's exit status.
    void done(int status);

private:
    void settle();
    void grab();

    MainWindow& m_window;
    QString m_path;
    int m_quietRounds = 0;
    bool m_done = false;
};

}  // namespace shardscope::desktop

// The program: options, window, event loop. Returns the exit status.
#pragma once

#include "storage/model/result.h"

#include <QObject>
#include <QString>
#include <functional>

namespace shardscope::desktop {

int runDesktop(int argc, char** argv);

class MainWindow;

/// Renders one page into a file without a display: waits until the loader has answered all
/// questions, draws, ends the program. GUI thread.
class ScreenshotJob : public QObject {
    Q_OBJECT

public:
    /// Writes what is shown by then.
    using Write = std::function<Result<void>(MainWindow& window)>;
    /// `window` outlives the job.
    ScreenshotJob(MainWindow& window, Write write, QObject* parent = nullptr);
    void start();

Q_SIGNALS:
    /// With the process's exit status.
    void done(int status);

private:
    void settle();
    void finish();

    MainWindow& m_window;
    Write m_write;
    int m_quietRounds = 0;
    bool m_done = false;
};

/// The window as a PNG file. Errors as storage::writeOutput() of pictureOutput() has them.
Result<void> writeWindow(MainWindow& window, const QString& path, bool overwrite);

// How this process keeps the memory that it frees.

/// Threads share a few heaps: what one frees is there for the others. Without it the C library
/// gives each thread its own, and each keeps what its largest question took. Before threads
/// are started.
///
/// Giving large blocks back at once (M_MMAP_THRESHOLD) keeps less still, and makes every picture
/// two and a half times slower: the system clears them each time.
void shareHeaps();

}  // namespace shardscope::desktop

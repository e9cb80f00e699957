// A window on a sample recording, with folders of its own.
#pragma once

#include "app/desktop/shell/main_window.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <memory>

namespace shardscope::desktop {

/// At once, with a display and without.
inline void movePointer(QWidget* over, QPoint at) {
    QWidget* window = over->window();
    const QPoint place = over->mapTo(window, at);
    // Another test of this process may have left it there, and then Qt says nothing.
    QTest::mouseMove(window->windowHandle(), place + QPoint(1, 0));
    QTest::mouseMove(window->windowHandle(), place);
}

class WindowTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(m_folder.isValid());
        const UserFolders folders{m_folder.filePath(QStringLiteral("desktop.ini")),
                                  m_folder.filePath(QStringLiteral("state/recent.json")),
                                  m_folder.filePath(QStringLiteral("recordings")),
                                  m_folder.filePath(QStringLiteral("imports"))};
        m_window = std::make_unique<MainWindow>(folders, true);
        m_window->resize(1280, 800);
        m_window->show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(m_window.get(), 30'000));
    }

    QString writeSample(const test::SampleOptions& options = {}) {
        const QString path = m_folder.filePath(QStringLiteral("sample.sscope"));
        const auto written = test::writeSampleRecording(path.toStdString(), options);
        EXPECT_TRUE(written) << (written ? "" : written.error().message);
        return path;
    }

    void openSample(const test::SampleOptions& options = {}) {
        const QString path = writeSample(options);
        QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
        m_window->openFile(path);
        ASSERT_TRUE(opened.wait(60'000));
        settle();
    }

    /// For people to look at: written only where SHARDSCOPE_TEST_PICTURES names a folder.
    void keepPicture(const QString& name) {
        const QString folder = qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES");
        if (folder.isEmpty()) return;
        EXPECT_TRUE(m_window->grab().save(folder + QStringLiteral("/%1.png").arg(name)));
    }

    /// Likewise of a window of its own, light and dark.
    void keepDialog(QWidget& dialog, const QString& name) {
        const QString folder = qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES");
        if (folder.isEmpty()) return;
        for (const bool dark : {false, true}) {
            m_window->useTheme(dark);
            QTest::qWait(50);
            const QString theme = dark ? QStringLiteral("-dark") : QString();
            EXPECT_TRUE(dialog.grab().save(folder + u'/' + name + theme + QStringLiteral(".png")));
        }
        m_window->useTheme(false);
    }
    void settle() {
        ASSERT_TRUE(QTest::qWaitFor([this] { return m_window->loader().isIdle(); }, 60'000));
        QTest::qWait(1);
    }

    QTemporaryDir m_folder;
    std::unique_ptr<MainWindow> m_window;
};

}  // namespace shardscope::desktop

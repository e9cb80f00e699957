// Qt needs an application object before any widget; the platform comes from ctest's environment.
#include "app/desktop/widgets/theme.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QTemporaryDir>
#include <QTest>
#include <QWidget>

namespace {

/// Many tests share this process: keys that one held with a click stay held for Qt until the next
/// event, and another test's selection would heed them.
class NoKeysHeld final : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo&) override {
        QWidget elsewhere;
        QTest::keyClick(&elsewhere, Qt::Key_F35);
    }
};

}  // namespace

int main(int argc, char** argv) {
    // No calibration of the machine that tests.
    const QTemporaryDir state;
    qputenv("XDG_STATE_HOME", state.path().toUtf8());
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    using namespace shardscope::desktop;
    QApplication::setStyle(applicationStyle());
    QApplication::setPalette(Theme::light().palette());
    app.setStyleSheet(themeStyleSheet(Theme::light()));
    QApplication::setFont(textFont(kTextPixels));
    ::testing::InitGoogleMock(&argc, argv);
    testing::UnitTest::GetInstance()->listeners().Append(new NoKeysHeld);
    return RUN_ALL_TESTS();
}

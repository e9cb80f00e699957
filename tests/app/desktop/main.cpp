// Qt needs an application object before any widget; the platform comes from ctest's environment.
#include "app/desktop/widgets/style_sheet.h"
#include "app/desktop/widgets/theme.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QStyleFactory>
#include <QTemporaryDir>

int main(int argc, char** argv) {
    // No calibration of the machine that tests.
    const QTemporaryDir state;
    qputenv("XDG_STATE_HOME", state.path().toUtf8());
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    using namespace shardscope::desktop;
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(Theme::light().palette());
    app.setStyleSheet(themeStyleSheet(Theme::light()));
    QApplication::setFont(textFont(kTextPixels));
    ::testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}

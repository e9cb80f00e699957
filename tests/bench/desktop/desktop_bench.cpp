// Figures of the window: prints them, asserts none.
//
//   QT_QPA_PLATFORM=offscreen desktop_bench [charts] [bars]      without words: these two
//   QT_QPA_PLATFORM=offscreen desktop_bench FILE.sscope          opening it, moving in its Timeline
//   QT_QPA_PLATFORM=offscreen desktop_bench open FILE.sscope     opening it alone
//   QT_QPA_PLATFORM=offscreen desktop_bench flame FILE.sscope    its stacks, zooms of a flame graph
#include "app/desktop/shell/run_desktop.h"
#include "app/desktop/widgets/theme.h"
#include "tests/bench/desktop/measure.h"

#include <QApplication>
#include <chrono>
#include <ctime>

namespace shardscope::desktop::bench {

double processorMs() {
    return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC;
}

double wallMs() {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace shardscope::desktop::bench

int main(int argc, char** argv) {
    using namespace shardscope::desktop;
    shareHeaps();
    const QApplication application(argc, argv);
    QApplication::setStyle(applicationStyle());
    QApplication::setPalette(Theme::light().palette());
    const QStringList words = QApplication::arguments().mid(1);
    const auto wants = [&words](const QString& word) {
        return words.isEmpty() || words.contains(word);
    };
    for (const QString& word : words)
        if (word.endsWith(QStringLiteral(".sscope")))
            return words.contains(QStringLiteral("flame"))
                       ? bench::measureFlame(word.toStdString())
                       : bench::measureTimeline(word.toStdString(),
                                                words.contains(QStringLiteral("open")));
    if (wants(QStringLiteral("charts"))) bench::measureCharts();
    if (wants(QStringLiteral("bars"))) bench::measureBars();
    return 0;
}

// How long one waits for a recording: first picture, report, pictures after zooms and jumps.
#include "app/desktop/pages/timeline/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/shell/main_window.h"
#include "tests/bench/desktop/measure.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <QCoreApplication>
#include <QEventLoop>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace shardscope::desktop::bench {
namespace {

constexpr int kMoves = 200;
constexpr int kLongestWaitMs = 60'000;

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void print(const char* what, const std::vector<double>& times) {
    fmt::print("{:<34} p50 {:7.2f}  p99 {:7.2f}  max {:7.2f} ms\n", what, percentile(times, 0.5),
               percentile(times, 0.99), percentile(times, 1));
}

/// Resident memory now, in MB.
double residentMb() {
    std::ifstream status("/proc/self/statm");
    double pages = 0, resident = 0;
    status >> pages >> resident;
    return resident * 4096 / 1e6;
}

double peakMb() {
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1e3;
}

/// Lets events run until `done`; the longest turn of the event loop is kept, as a watchdog has it.
template <class Done>
double until(Done done, double& longestTurn) {
    const double begin = wallMs();
    while (!done() && wallMs() - begin < kLongestWaitMs) {
        const double turn = wallMs();
        QCoreApplication::processEvents(QEventLoop::AllEvents);
        longestTurn = std::max(longestTurn, wallMs() - turn);
    }
    return wallMs() - begin;
}

double paint(TimelineCanvas& canvas) {
    const double begin = wallMs();
    canvas.viewport()->repaint();
    return wallMs() - begin;
}

void hover(TimelineCanvas& canvas) {
    std::mt19937 random(2);
    std::vector<double> times;
    for (int i = 0; i < kMoves; ++i) {
        const QPointF at(200 + static_cast<int>(random() % 1000),
                         80 + static_cast<int>(random() % 500));
        QMouseEvent move(QEvent::MouseMove, at, canvas.viewport()->mapToGlobal(at), Qt::NoButton,
                         Qt::NoButton, Qt::NoModifier);
        const double begin = wallMs();
        QCoreApplication::sendEvent(canvas.viewport(), &move);
        canvas.viewport()->repaint();
        times.push_back(wallMs() - begin);
    }
    print("hover with repaint", times);
}

/// Each view: what the GUI thread needs at once, and until its own picture is there.
void views(const char* what, TimelineCanvas& canvas, RecordingLoader& loader,
           const std::vector<TimeRange>& wanted) {
    std::vector<double> atOnce, whole;
    double longest = 0;
    for (const TimeRange& view : wanted) {
        const double begin = wallMs();
        canvas.setView(view);
        paint(canvas);
        atOnce.push_back(wallMs() - begin);
        until([&loader] { return loader.isIdle(); }, longest);
        paint(canvas);
        whole.push_back(wallMs() - begin);
    }
    print(fmt::format("{}, shown at once", what).c_str(), atOnce);
    print(fmt::format("{}, its own picture", what).c_str(), whole);
    fmt::print("{:<34} {:.1f} ms\n", "  longest turn of the event loop", longest);
}

std::vector<TimeRange> jumps(TimeRange bounds) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> share(0, 1);
    std::vector<TimeRange> views;
    const auto all = static_cast<double>(bounds.duration().ns);
    for (int i = 0; i < kMoves; ++i) {
        const double length = all * std::pow(10.0, -4 * share(random));
        const double begin = share(random) * (all - length);
        views.push_back({bounds.begin + Duration{static_cast<std::int64_t>(begin)},
                         bounds.begin + Duration{static_cast<std::int64_t>(begin + length)}});
    }
    return views;
}

/// Into a place and out again, a sixth of the view sideways each time.
std::vector<TimeRange> walk(TimeRange bounds) {
    std::vector<TimeRange> views;
    TimeRange view = bounds;
    for (int i = 0; i < kMoves; ++i) {
        const Duration length = view.duration();
        const bool into = (i / 20) % 2 == 0;
        const auto half =
            static_cast<std::int64_t>(static_cast<double>(length.ns) * (into ? 0.35 : 0.7));
        const Timestamp middle{view.begin.ns + length.ns / 2 + (i % 3 - 1) * length.ns / 6};
        view = TimeRange{middle - Duration{half}, middle + Duration{half}}.intersection(bounds);
        if (view.duration().ns < 1000) view = bounds;
        views.push_back(view);
    }
    return views;
}

}  // namespace

int measureTimeline(const std::string& path) {
    const QTemporaryDir folder;
    const UserFolders folders{folder.filePath(QStringLiteral("desktop.ini")),
                              folder.filePath(QStringLiteral("recent.json")), folder.path(),
                              folder.filePath(QStringLiteral("imports"))};
    MainWindow window(folders, false);
    window.resize(1920, 1080);
    window.showPage(page_ids::kTimeline);
    window.show();
    double longest = 0;
    until([&window] { return window.loader().isIdle(); }, longest);
    fmt::print("{:<34} {:.0f} MB\n", "an empty window", residentMb());
    auto* page = qobject_cast<TimelinePage*>(window.page(page_ids::kTimeline));
    TimelineCanvas& canvas = page->canvas();
    longest = 0;
    bool opened = false;
    const double begin = wallMs();
    QObject::connect(&window.loader(), &RecordingLoader::sketched,
                     [&] { fmt::print("{:<34} {:.0f} ms\n", "its rows", wallMs() - begin); });
    QObject::connect(&window.loader(), &RecordingLoader::opened, [&] { opened = true; });
    window.openFile(QString::fromStdString(path));
    until([&] { return canvas.hasPicture(); }, longest);
    paint(canvas);
    fmt::print("{:<34} {:.0f} ms\n", "first picture of lanes", wallMs() - begin);
    until([&] { return opened; }, longest);
    fmt::print("{:<34} {:.0f} ms, {:.0f} MB\n", "report", wallMs() - begin, residentMb());
    until([&] { return window.loader().isIdle(); }, longest);
    fmt::print("{:<34} {:.0f} ms\n", "everything, tables too", wallMs() - begin);
    fmt::print("{:<34} {:.1f} ms\n", "  longest turn of the event loop", longest);
    if (!opened) return 1;
    for (const auto& id : {page_ids::kOverview, page_ids::kMemory, page_ids::kTraining}) {
        longest = 0;
        const double shown = wallMs();
        window.showPage(id);
        longest = wallMs() - shown;
        until([&] { return window.loader().isIdle(); }, longest);
        fmt::print("{:<34} {:.0f} ms, longest turn {:.1f} ms\n", QString(id).toStdString(),
                   wallMs() - shown, longest);
    }
    window.showPage(page_ids::kTimeline);
    until([&] { return window.loader().isIdle(); }, longest);
    const TimeRange bounds = window.loader().recording()->bounds();
    views("walk", canvas, window.loader(), walk(bounds));
    views("random jumps", canvas, window.loader(), jumps(bounds));
    hover(canvas);
    const double before = processorMs();
    QEventLoop idle;
    QTimer::singleShot(3000, &idle, &QEventLoop::quit);
    idle.exec();
    fmt::print("{:<34} {:.2f} % of a core\n", "idle for 3 s", (processorMs() - before) / 30);
    fmt::print("{:<34} {:.0f} MB, at most {:.0f} MB\n", "memory", residentMb(), peakMb());
    return 0;
}

}  // namespace shardscope::desktop::bench

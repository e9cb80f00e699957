// How long one waits for a recording: first picture, report, pictures after zooms and jumps.
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/shell/main_window.h"
#include "tests/bench/desktop/measure.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <QEventLoop>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTimer>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <thread>
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

/// Most resident memory since the last call, or the start, in MB.
double peakMb() {
    std::ifstream status("/proc/self/status");
    std::string word;
    double peak = 0;
    while (status >> word)
        if (word == "VmHWM:") status >> peak;
    std::ofstream("/proc/self/clear_refs") << "5";
    return peak * 1024 / 1e6;
}

/// Of the GUI thread: on a machine that others use too, its wall clock says little.
double threadMs() {
    struct timespec now {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// The longest turns of the event loop, as a watchdog has them.
struct Turns {
    double wall = 0, processor = 0;

    template <class Work>
    void measure(Work work) {
        const double begin = wallMs(), used = threadMs();
        work();
        wall = std::max(wall, wallMs() - begin);
        processor = std::max(processor, threadMs() - used);
    }
    [[nodiscard]] std::string text() const {
        return fmt::format("{:.1f} ms, {:.1f} ms of a core", wall, processor);
    }
};

/// Lets events run until `done`. Rests in between: who asks all the time takes a core from the
/// threads that load.
template <class Done>
double until(Done done, Turns& turns) {
    const double begin = wallMs();
    while (!done() && wallMs() - begin < kLongestWaitMs) {
        turns.measure([] { QCoreApplication::processEvents(QEventLoop::AllEvents); });
        if (!done()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (!done()) fmt::print("what follows did not come within {} s\n", kLongestWaitMs / 1000);
    return wallMs() - begin;
}

/// What came, how long after `begin`, of how much processor time, and the memory.
void printStage(const char* what, double begin, double processor) {
    fmt::print("{:<34} {:.0f} ms, {:.0f} ms of cores, {:.0f} MB, at most {:.0f} MB\n", what,
               wallMs() - begin, processorMs() - processor, residentMb(), peakMb());
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
    Turns turns;
    for (const TimeRange& view : wanted) {
        const double begin = wallMs();
        canvas.setView(view);
        paint(canvas);
        atOnce.push_back(wallMs() - begin);
        until([&loader] { return loader.isIdle(); }, turns);
        paint(canvas);
        whole.push_back(wallMs() - begin);
    }
    print(fmt::format("{}, shown at once", what).c_str(), atOnce);
    print(fmt::format("{}, its own picture", what).c_str(), whole);
    fmt::print("{:<34} {}\n", "  longest turn of the event loop", turns.text());
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

int measureTimeline(const std::string& path, bool onlyOpens) {
    const QTemporaryDir folder;
    const UserFolders folders{folder.filePath(QStringLiteral("desktop.ini")),
                              folder.filePath(QStringLiteral("recent.json")), folder.path(),
                              folder.filePath(QStringLiteral("imports"))};
    MainWindow window(folders, false);
    window.resize(1920, 1080);
    window.showPage(page_ids::kTimeline);
    window.show();
    Turns turns;
    until([&window] { return window.loader().isIdle(); }, turns);
    fmt::print("{:<34} {:.0f} MB\n", "an empty window", residentMb());
    auto* page = qobject_cast<TimelinePage*>(window.page(page_ids::kTimeline));
    TimelineCanvas& canvas = page->canvas();
    turns = {};
    bool opened = false;
    const double begin = wallMs(), used = processorMs();
    QObject::connect(&window.loader(), &RecordingLoader::sketched,
                     [&] { printStage("its rows", begin, used); });
    QObject::connect(&window.loader(), &RecordingLoader::opened, [&] { opened = true; });
    window.openFile(QString::fromStdString(path));
    until([&] { return canvas.hasPicture(); }, turns);
    paint(canvas);
    printStage("first picture of lanes", begin, used);
    until([&] { return opened; }, turns);
    printStage("report", begin, used);
    until([&] { return window.loader().isIdle(); }, turns);
    printStage("everything, tables too", begin, used);
    fmt::print("{:<34} {}\n", "  longest turn of the event loop", turns.text());
    if (!opened || onlyOpens) return opened ? 0 : 1;
    for (const auto& id : {page_ids::kOverview, page_ids::kMemory, page_ids::kCommunication,
                           page_ids::kOperators, page_ids::kTraining, page_ids::kEfficiency,
                           page_ids::kCompare, page_ids::kProblems, page_ids::kDashboard}) {
        turns = {};
        const double shown = wallMs(), before = processorMs();
        turns.measure([&] { window.showPage(id); });
        until([&] { return window.loader().isIdle(); }, turns);
        printStage(QString(id).toUtf8().constData(), shown, before);
        fmt::print("{:<34} {}\n", "  longest turn of the event loop", turns.text());
    }
    window.showPage(page_ids::kTimeline);
    until([&] { return window.loader().isIdle(); }, turns);
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

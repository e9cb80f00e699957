// How long one waits for a flame graph: reading stacks, laying them out, zooming.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/pages/operators/operators_query.h"
#include "app/desktop/widgets/pictures/flame_graph.h"
#include "tests/bench/desktop/measure.h"

#include <fmt/core.h>

#include <QPixmap>
#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace shardscope::desktop::bench {
namespace {

constexpr int kZooms = 200;

double since(double begin) {
    return wallMs() - begin;
}

void measureZooms(const std::shared_ptr<const FlameData>& data) {
    FlameGraph graph;
    graph.resize(1600, graph.height());
    graph.setIcicle(true);
    graph.setData(data, {});
    graph.setFixedWidth(1600);
    std::mt19937 random(1);
    std::vector<double> times;
    for (int i = 0; i < kZooms; ++i) {
        const double begin = processorMs();
        graph.zoomTo(i % 4 == 0 ? 0 : random() % data->cells.size());
        const QPixmap frame = graph.grab();
        if (!frame.isNull()) times.push_back(processorMs() - begin);
    }
    std::sort(times.begin(), times.end());
    fmt::print("    zoom and draw, {} cells: p50 {:.2f}, p99 {:.2f}, max {:.2f} ms\n",
               data->cells.size(), times[times.size() / 2], times[times.size() * 99 / 100],
               times.back());
}

}  // namespace

int measureFlame(const std::string& path) {
    auto reader = storage::openRecording(path);
    if (!reader) return 1;
    const auto recording = loadRecording(**reader, QString::fromStdString(path));
    if (!recording) return 1;
    const PartPtr part = wholePart(*recording);
    for (const questions::StackKind kind : questions::stackKinds(*part->summary)) {
        double begin = wallMs();
        const auto frame = loadStacks(**reader, part, kind, storage::Generation());
        if (!frame) return 1;
        fmt::print("{}: read and merged in {:.0f} ms\n", toWord(kind), since(begin));
        for (const bool byLane : {false, true}) {
            begin = wallMs();
            const auto data = flameOf(**frame, {byLane, false});
            const double up = since(begin);
            begin = wallMs();
            const auto inverted = flameOf(**frame, {byLane, true});
            fmt::print("  {}: laid out in {:.1f} ms, inverted in {:.1f} ms\n",
                       byLane ? "by lane" : "merged", up, since(begin));
            if (data->empty()) continue;
            measureZooms(data);
            measureZooms(inverted);
        }
    }
    return 0;
}

}  // namespace shardscope::desktop::bench

#include "profiler/planning/tuning.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::planning {
namespace {

struct Candidate {
    TuningPoint point;
    double predicted = 0;
    bool tried = false;
};

std::vector<Candidate> candidatesOf(const TuningTask& task) {
    std::vector<Candidate> all;
    if (std::find(task.axes.begin(), task.axes.end(), std::size_t{0}) != task.axes.end())
        return all;
    TuningPoint point(task.axes.size(), 0);
    while (true) {
        const auto predicted = task.predict(point);
        if (predicted && *predicted > 0) all.push_back({point, *predicted, false});
        std::size_t axis = point.size();
        while (axis > 0 && ++point[axis - 1] == task.axes[axis - 1]) point[--axis] = 0;
        if (axis == 0) return all;
    }
}

int axesApart(const TuningPoint& a, const TuningPoint& b) {
    int apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) apart += a[i] != b[i] ? 1 : 0;
    return apart;
}

struct Seen {
    const Candidate* candidate;
    double ratio;  ///< log of measured / predicted
};

double expectedOf(const Candidate& candidate, const std::vector<Seen>& seen) {
    double sum = 0, weights = 0;
    for (const Seen& each : seen) {
        const double weight = std::pow(0.25, axesApart(candidate.point, each.candidate->point));
        sum += weight * each.ratio;
        weights += weight;
    }
    return candidate.predicted * (weights > 0 ? std::exp(sum / weights) : 1);
}

}  // namespace

Tuned tune(const TuningTask& task) {
    std::vector<Candidate> candidates = candidatesOf(task);
    Tuned tuned;
    tuned.points = candidates.size();
    std::vector<Seen> seen;
    while (tuned.path.size() < task.mostRuns && (!task.mayGoOn || task.mayGoOn())) {
        Candidate* next = nullptr;
        double least = 0;
        for (Candidate& each : candidates) {
            if (each.tried) continue;
            const double expected = expectedOf(each, seen);
            if (next != nullptr && expected >= least) continue;
            next = &each;
            least = expected;
        }
        if (next == nullptr) break;
        next->tried = true;
        const auto measured = task.measure(next->point);
        if (!measured) {
            tuned.ended = measured.error();
            break;
        }
        tuned.path.push_back({next->point, least, *measured});
        if (!*measured) continue;
        seen.push_back({next, std::log(**measured / next->predicted)});
        if (!tuned.best || **measured < *tuned.path[*tuned.best].measured)
            tuned.best = tuned.path.size() - 1;
    }
    return tuned;
}

}  // namespace shardscope::planning

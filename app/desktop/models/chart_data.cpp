#include "app/desktop/models/chart_data.h"

#include <algorithm>

namespace shardscope::desktop {

double StackedBar::sum() const {
    double sum = 0;
    for (const BarSegment& segment : segments) sum += segment.value;
    return sum;
}

QVector<QPointF> decimated(const QVector<QPointF>& points, int limit) {
    if (points.size() <= limit || limit < 4) return points;
    const int buckets = limit / 2;
    QVector<QPointF> kept;
    kept.reserve(limit);
    const auto lower = [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); };
    for (int i = 0; i < buckets; ++i) {
        const auto first = points.begin() + points.size() * i / buckets;
        const auto last = points.begin() + points.size() * (i + 1) / buckets;
        if (first == last) continue;
        auto [low, high] = std::minmax_element(first, last, lower);
        if (high < low) std::swap(low, high);
        kept.push_back(*low);
        if (low != high) kept.push_back(*high);
    }
    return kept;
}

}  // namespace shardscope::desktop

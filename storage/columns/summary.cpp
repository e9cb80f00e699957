#include "storage/columns/summary.h"

namespace shardscope::columns {

void SpanGrouper::add(const SpanSummary& item) {
    if (m_byDepth.size() <= item.depth) m_byDepth.resize(item.depth + std::size_t{1});
    std::vector<SpanSummary>& row = m_byDepth[item.depth];
    const auto isAlone = [&](const SpanSummary& s) {
        return s.count == 1 && s.busy.ns >= std::int64_t{1} << m_shift;
    };
    const bool joins = !row.empty() && !isAlone(row.back()) && !isAlone(item) &&
                       row.back().first.ns >> m_shift == item.first.ns >> m_shift;
    if (joins)
        row.back().merge(item);
    else
        row.push_back(item);
}

std::vector<SpanSummary> SpanGrouper::take() {
    std::vector<SpanSummary> all;
    for (std::vector<SpanSummary>& row : m_byDepth) all.insert(all.end(), row.begin(), row.end());
    m_byDepth.clear();
    return all;
}

}  // namespace shardscope::columns

#include "engine/training/precision_report.h"

#include <algorithm>

namespace shardscope::training {

void PrecisionReport::tensor(control::TensorRole role, DataType type, const char* where) {
    const MutexLock lock(m_mutex);
    const auto seen = std::find_if(m_seen.begin(), m_seen.end(), [&](const Seen& row) {
        return row.role == role && row.type == type && row.where == where;
    });
    if (seen != m_seen.end()) {
        ++seen->tensors;
    } else {
        m_seen.push_back({role, type, where, 1});
    }
}

void PrecisionReport::collective(const control::CollectiveReport& report) {
    if (report.cause != Cause::kGradient) return;
    tensor(control::TensorRole::kReduction, report.dtype, toWord(report.operation));
}

std::vector<PrecisionRow> PrecisionReport::rows() const {
    std::vector<Seen> seen;
    {
        const MutexLock lock(m_mutex);
        seen = m_seen;
    }
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Seen& a, const Seen& b) { return a.role < b.role; });
    std::vector<PrecisionRow> rows;
    for (const Seen& row : seen) {
        rows.push_back({toWord(row.role), toWord(row.type), row.where, row.tensors});
    }
    return rows;
}

}  // namespace shardscope::training

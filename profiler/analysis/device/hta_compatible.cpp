#include "profiler/analysis/device/hta_compatible.h"

#include "profiler/analysis/intervals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace shardscope::analysis {
namespace {

constexpr std::int64_t kConsecutiveNs = 30'000;  ///< consecutive_kernel_delay
constexpr std::int64_t kMicrosecond = 1000;

bool contains(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

bool startsWithAny(std::string_view name, std::initializer_list<std::string_view> fronts) {
    return std::any_of(fronts.begin(), fronts.end(),
                       [&](std::string_view front) { return name.starts_with(front); });
}

/// `cuda.*LaunchKernel` at the front.
bool launchesKernel(std::string_view name) {
    return name.starts_with("cuda") && contains(name.substr(4), "LaunchKernel");
}

std::int64_t floored(std::int64_t ns) {
    return (ns / kMicrosecond - (ns % kMicrosecond < 0 ? 1 : 0)) * kMicrosecond;
}

void floorTimes(HtaTrace& trace) {
    for (HtaRow& row : trace.rows) {
        row.startNs = floored(row.startNs);
        row.endNs = floored(row.endNs);
    }
    for (HtaLaunch& launch : trace.launches) launch.startNs = floored(launch.startNs);
    for (HtaStep& step : trace.steps) {
        step.startNs = floored(step.startNs);
        step.endNs = floored(step.endNs);
    }
}

bool severalSteps(const std::vector<HtaTrace>& ranks) {
    std::set<std::string> names;
    for (const HtaTrace& trace : ranks)
        for (const HtaStep& step : trace.steps) names.insert(step.name);
    return names.size() > 1;
}

/// A row of the analyses, with the start of its launch where HTA finds one.
struct KeptRow {
    HtaRow row;
    std::optional<std::int64_t> launchNs;
};

class Filter {
public:
    Filter(const HtaTrace& trace, bool filters, bool keepLast)
        : m_trace(&trace), m_filters(filters), m_keepLast(keepLast) {
        for (const HtaStep& step : trace.steps) {
            m_lastStart = std::max(m_lastStart.value_or(step.startNs), step.startNs);
            m_lastEnd = std::max(m_lastEnd.value_or(step.endNs), step.endNs);
        }
        // Of several events with one correlation HTA joins the last.
        for (const HtaLaunch& launch : trace.launches) {
            Launches& launches = m_launches[launch.correlation];
            launches.joinedNs = launch.startNs;
            if (keeps(launch.startNs)) ++launches.kept;
        }
    }

    [[nodiscard]] std::vector<KeptRow> rows() const {
        std::vector<KeptRow> kept;
        for (const HtaRow& row : m_trace->rows) {
            if (!row.device) {
                if (!m_filters || keeps(row.startNs)) kept.push_back({row, std::nullopt});
                continue;
            }
            const auto at = m_launches.find(row.correlation);
            const bool launched = at != m_launches.end();
            std::optional<std::int64_t> launchNs;
            if (launched && (!m_filters || keeps(at->second.joinedNs)))
                launchNs = at->second.joinedNs;
            // The join repeats a row for each launch that is kept.
            const std::size_t times = !m_filters ? 1 : launched ? at->second.kept : 0;
            kept.insert(kept.end(), times, {row, launchNs});
        }
        return kept;
    }

private:
    struct Launches {
        std::int64_t joinedNs = 0;
        std::size_t kept = 0;
    };
    [[nodiscard]] bool keeps(std::int64_t startNs) const {
        if (!m_lastStart) return false;  // a comparison with NaN
        return m_keepLast ? startNs <= *m_lastEnd : startNs < *m_lastStart;
    }

    const HtaTrace* m_trace;
    bool m_filters;
    bool m_keepLast;
    std::optional<std::int64_t> m_lastStart, m_lastEnd;
    std::unordered_map<std::int64_t, Launches> m_launches;
};

template <class Wanted>
Intervals mergedOf(const std::vector<KeptRow>& rows, Wanted wanted) {
    std::vector<TimeRange> ranges;
    for (const auto& [row, launch] : rows)
        if (wanted(row)) ranges.push_back({{row.startNs}, {row.endNs}});
    return unionOf(std::move(ranges));
}

double percent(std::int64_t part, std::int64_t whole) {
    constexpr double kDecimals = 100;
    return std::nearbyint(100 * static_cast<double>(part) / static_cast<double>(whole) *
                          kDecimals) /
           kDecimals;
}

void takeBreakdown(const std::vector<KeptRow>& rows, HtaNumbers& numbers) {
    const Intervals busy = mergedOf(rows, [](const HtaRow&) { return true; });
    const Intervals compute =
        mergedOf(rows, [](const HtaRow& row) { return row.kind == HtaKind::kComputation; });
    const Intervals communication =
        mergedOf(rows, [](const HtaRow& row) { return row.kind == HtaKind::kCommunication; });
    std::int64_t first = rows.front().row.startNs, last = rows.front().row.endNs;
    for (const auto& [row, launch] : rows) {
        first = std::min(first, row.startNs);
        last = std::max(last, row.endNs);
    }
    numbers.kernelNs = last - first;
    numbers.idleNs = numbers.kernelNs - total(busy).ns;
    numbers.computeNs = total(compute).ns;
    numbers.nonComputeNs = numbers.kernelNs - numbers.computeNs - numbers.idleNs;
    numbers.communicationNs = total(communication).ns;
    if (const std::int64_t whole = numbers.communicationNs; whole > 0)
        numbers.overlapPercent = percent(total(intersection(communication, compute)).ns, whole);
}

HtaIdle idleOf(std::int64_t stream, std::vector<const KeptRow*>& rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const KeptRow* a, const KeptRow* b) {
        return a->row.startNs != b->row.startNs ? a->row.startNs < b->row.startNs
                                                : a->row.endNs < b->row.endNs;
    });
    HtaIdle idle;
    idle.stream = stream;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::int64_t before = rows[i - 1]->row.endNs;
        const std::int64_t gap = rows[i]->row.startNs - before;
        const auto launch = rows[i]->launchNs;
        (launch && *launch > before ? idle.hostWaitNs
         : gap < kConsecutiveNs     ? idle.kernelWaitNs
                                    : idle.otherNs) += gap;
    }
    return idle;
}

void takeIdle(const std::vector<KeptRow>& rows, HtaNumbers& numbers) {
    std::map<std::int64_t, std::vector<const KeptRow*>> streams;
    for (const KeptRow& kept : rows)
        if (kept.row.work) streams[kept.row.stream].push_back(&kept);
    for (auto& [stream, work] : streams) numbers.idle.push_back(idleOf(stream, work));
}

}  // namespace

HtaKind htaKind(std::string_view name) {
    if (startsWithAny(name, {"nccl", "hip", "hccl"}) || contains(name, "ncclKernel"))
        return HtaKind::kCommunication;
    if (startsWithAny(name, {"Memcpy", "Memset", "dma"})) return HtaKind::kMemory;
    const bool other =
        contains(name, "Memcpy") || contains(name, "Memset") || contains(name, "dma") ||
        contains(name, "Sync") || launchesKernel(name) ||
        startsWithAny(name, {"Stream Wait Event", "runFunction", "job_exe", "packet", "pe_exe",
                             "cpum_exe_subgraph", "collective_subgraph_execution"});
    return other ? HtaKind::kOther : HtaKind::kComputation;
}

std::vector<HtaNumbers> htaCompatible(const std::vector<HtaTrace>& ranks,
                                      const HtaOptions& options) {
    const bool filters = severalSteps(ranks);
    std::vector<HtaNumbers> all;
    for (const HtaTrace& rank : ranks) {
        HtaTrace trace = rank;
        if (options.wholeMicroseconds) floorTimes(trace);
        const auto rows = Filter(trace, filters, options.keepLastStep).rows();
        if (rows.empty()) continue;
        HtaNumbers numbers;
        numbers.rank = rank.rank;
        numbers.options = options;
        takeBreakdown(rows, numbers);
        takeIdle(rows, numbers);
        all.push_back(std::move(numbers));
    }
    return all;
}

}  // namespace shardscope::analysis

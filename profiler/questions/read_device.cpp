#include "profiler/questions/read_device.h"

#include "profiler/analysis/intervals.h"
#include "profiler/questions/device_work.h"
#include "storage/model/lanes.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::DeviceTimeline;
using analysis::DeviceWork;
using analysis::DeviceWorkKind;

bool containsAny(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return text.find(word) != std::string_view::npos;
    });
}

std::string lowerCase(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return lower;
}

/// What an annotation says of the time it covers.
enum class Meaning { kNothing, kData, kCheckpoint, kOptimizer };

Meaning meaningOf(std::string_view name) {
    if (name.starts_with("Optimizer.step#")) return Meaning::kOptimizer;
    const std::string lower = lowerCase(name);
    if (containsAny(lower, {"dataloader", "data_loader", "data loader", "data loading",
                            "data_loading", "get_batch", "next_batch"}))
        return Meaning::kData;
    // Not "checkpoint" alone: activations that are computed again are called so.
    if (containsAny(lower, {"save_checkpoint", "save checkpoint", "saving checkpoint",
                            "checkpoint_save", "checkpoint save"}))
        return Meaning::kCheckpoint;
    return Meaning::kNothing;
}

/// Tracers count the driver's own work for overhead too.
bool isDriversWork(std::string_view name) {
    return containsAny(lowerCase(name), {"loading", "compil", "command buffer full"});
}

DeviceWorkKind kindOf(LaneRole role, Phase phase) {
    if (role == LaneRole::kCommunication) return DeviceWorkKind::kCommunication;
    if (role == LaneRole::kCopy) return DeviceWorkKind::kCopy;
    if (phase == Phase::kOptimizer || phase == Phase::kClip) return DeviceWorkKind::kOptimizer;
    return phase == Phase::kEvaluation ? DeviceWorkKind::kEvaluation : DeviceWorkKind::kCompute;
}

/// When calls began, by correlation.
class Launches {
public:
    void add(std::uint64_t correlation, Timestamp begin) {
        if (correlation != 0) m_calls.emplace_back(correlation, begin);
    }
    void finish() {
        if (!std::is_sorted(m_calls.begin(), m_calls.end()))
            std::sort(m_calls.begin(), m_calls.end());
    }
    /// The first of several: a call of the driver lies within one of the runtime.
    [[nodiscard]] std::optional<Timestamp> of(std::uint64_t correlation) {
        if (correlation == 0) return std::nullopt;
        const auto isOf = [&](std::size_t place) {
            return place < m_calls.size() && m_calls[place].first == correlation &&
                   (place == 0 || m_calls[place - 1].first != correlation);
        };
        // Work of a stream mostly comes in the order of its calls.
        while (m_next < m_calls.size() && m_calls[m_next].first < correlation &&
               m_next + 1 < m_calls.size() && m_calls[m_next + 1].first <= correlation)
            ++m_next;
        if (!isOf(m_next))
            m_next = static_cast<std::size_t>(
                std::lower_bound(
                    m_calls.begin(), m_calls.end(), correlation,
                    [](const auto& call, std::uint64_t id) { return call.first < id; }) -
                m_calls.begin());
        if (!isOf(m_next)) return std::nullopt;
        return m_calls[m_next].second;
    }

private:
    std::vector<std::pair<std::uint64_t, Timestamp>> m_calls;
    std::size_t m_next = 0;
};

/// One rank's lanes, sorted by what they say.
class DeviceReader {
public:
    DeviceReader(storage::RecordingReader& reader, const RecordingSummary& summary, RankId rank)
        : m_reader(reader),
          m_summary(summary),
          m_rank(rank),
          m_whole{summary.bounds.begin, {summary.bounds.end.ns + 1}} {}

    Result<DeviceTimeline> read(const RankEvents& events) {
        for (const LaneFacts& lane : m_summary.lanes)
            if (lane.rank == m_rank || isCall(lane))
                if (auto taken = take(lane); !taken) return failure(taken);
        for (const SpanEvent& phase : events.phases) {
            if (phase.phase == Phase::kData) m_device.data.push_back(phase.range());
            if (phase.phase == Phase::kCheckpoint) m_device.checkpoint.push_back(phase.range());
        }
        join();
        return std::move(m_device);
    }

private:
    [[nodiscard]] bool isCall(const LaneFacts& lane) const {
        return lane.role == LaneRole::kRuntime && launchesFor(m_summary, lane.rank, m_rank);
    }
    Result<void> take(const LaneFacts& lane) {
        const bool work = isStreamLane(lane.lane) &&
                          (lane.role == LaneRole::kCompute ||
                           lane.role == LaneRole::kCommunication || lane.role == LaneRole::kCopy);
        const bool overhead = lane.rank == m_rank && isOverheadLane(lane.lane, lane.name);
        const bool calls = isCall(lane) && !overhead;
        const bool annotations = lane.role == LaneRole::kRange && !isOfDevice(lane);
        if (!work && !overhead && !calls && !annotations) return {};
        const auto spans = m_reader.spans(lane.rank, lane.lane, m_whole);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans) {
            if (work)
                takeWork(lane.role, span);
            else if (overhead)
                takeOverhead(span);
            else if (calls)
                m_launches.add(span.correlation, span.start);
            else
                takeAnnotation(span);
        }
        return {};
    }

    /// Annotations of the host that were carried over to the kernels within.
    static bool isOfDevice(const LaneFacts& lane) {
        return lane.name.ends_with("gpu_user_annotation");
    }

    void takeWork(LaneRole role, const SpanEvent& span) {
        // As rankEvents() has it: on a lane of compute no kernel goes without.
        if (role == LaneRole::kCompute && span.correlation == 0) return;
        m_device.work.push_back({span.range(), std::nullopt, kindOf(role, span.phase)});
        m_correlations.push_back(span.correlation);
    }

    void takeOverhead(const SpanEvent& span) {
        if (!isDriversWork(m_reader.text(m_rank, span.name)))
            m_device.profiler.push_back(span.range());
    }

    void takeAnnotation(const SpanEvent& span) {
        const auto [known, fresh] = m_meanings.try_emplace(span.name, Meaning::kNothing);
        if (fresh) known->second = meaningOf(m_reader.text(m_rank, span.name));
        if (known->second == Meaning::kData) m_device.data.push_back(span.range());
        if (known->second == Meaning::kCheckpoint) m_device.checkpoint.push_back(span.range());
        if (known->second == Meaning::kOptimizer) m_optimizer.push_back(span.range());
    }

    void join() {
        m_launches.finish();
        const analysis::Intervals optimizer = analysis::unionOf(std::move(m_optimizer));
        for (std::size_t i = 0; i < m_device.work.size(); ++i) {
            DeviceWork& work = m_device.work[i];
            work.launch = m_launches.of(m_correlations[i]);
            if (work.launch && work.kind == DeviceWorkKind::kCompute &&
                analysis::total(optimizer, {*work.launch, *work.launch + Duration{1}}).ns > 0)
                work.kind = DeviceWorkKind::kOptimizer;
        }
    }

    storage::RecordingReader& m_reader;
    const RecordingSummary& m_summary;
    RankId m_rank;
    TimeRange m_whole;
    DeviceTimeline m_device;
    std::vector<std::uint64_t> m_correlations;  ///< of m_device.work
    Launches m_launches;
    std::map<StringId, Meaning> m_meanings;
    std::vector<TimeRange> m_optimizer;
};

}  // namespace

Result<DeviceTimeline> readDevice(storage::RecordingReader& reader, const RecordingSummary& summary,
                                  const RankEvents& events) {
    return DeviceReader(reader, summary, events.rank).read(events);
}

Result<std::vector<TimeRange>> copiesOf(storage::RecordingReader& reader,
                                        const RecordingSummary& summary, RankId rank,
                                        TimeRange time) {
    std::vector<TimeRange> copies;
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != rank || lane.role != LaneRole::kCopy || !isStreamLane(lane.lane)) continue;
        const auto spans = reader.spans(rank, lane.lane, time);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans) copies.push_back(span.range());
    }
    return copies;
}

Result<std::vector<analysis::LedgerRow>> deviceRows(storage::RecordingReader& reader,
                                                    const RecordingSummary& summary,
                                                    const std::vector<RankEvents>& ranks) {
    std::vector<analysis::LedgerRow> rows;
    for (const RankEvents& events : ranks) {
        const auto own = deviceRowsOf(reader, summary, events);
        if (!own) return failure(own);
        rows.insert(rows.end(), own->begin(), own->end());
    }
    return rows;
}

Result<std::vector<analysis::LedgerRow>> deviceRowsOf(storage::RecordingReader& reader,
                                                      const RecordingSummary& summary,
                                                      const RankEvents& events) {
    if (!analysis::ranKernels(events)) return std::vector<analysis::LedgerRow>();
    const auto device = readDevice(reader, summary, events);
    if (!device) return failure(device);
    return analysis::deviceLedger(summary, events, *device);
}

Result<std::vector<StreamQueue>> readQueues(const Asked& asked, std::size_t mostRanks) {
    std::vector<StreamQueue> queues;
    std::size_t ranks = 0;
    for (const RankFacts& facts : asked.summary.ranks) {
        if (ranks == mostRanks) break;
        const auto device = readLaunches(asked, facts.rank);
        if (!device) return failure(device);
        bool any = false;
        for (const auto& [stream, work] : device->streams) {
            auto samples = analysis::queueSamples(work);
            if (samples.empty()) continue;
            any = true;
            queues.push_back({facts.rank, stream, std::move(samples)});
        }
        ranks += any;
    }
    return queues;
}

}  // namespace shardscope::questions

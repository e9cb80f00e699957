#include "profiler/collectors/nccl/nccl_join.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace shardscope::collectors {
namespace {

/// Deliveries that a kernel may come later than one launched after it: several threads' buffers,
/// and those that were kept back.
constexpr std::uint64_t kPatience = 4;
/// Deliveries for which an unclaimed kernel is kept.
constexpr std::uint64_t kKept = 16;

struct TypeFacts {
    std::string_view word;
    std::int64_t bytes;
    std::optional<DataType> type;
};
constexpr std::array<TypeFacts, 16> kTypes{{
    {"ncclFloat32", 4, DataType::kFloat32},
    {"ncclFloat", 4, DataType::kFloat32},
    {"ncclBfloat16", 2, DataType::kBFloat16},
    {"ncclFloat16", 2, DataType::kFloat16},
    {"ncclHalf", 2, DataType::kFloat16},
    {"ncclFloat64", 8, DataType::kFloat64},
    {"ncclDouble", 8, DataType::kFloat64},
    {"ncclInt64", 8, DataType::kInt64},
    {"ncclUint64", 8, std::nullopt},
    {"ncclInt32", 4, std::nullopt},
    {"ncclInt", 4, std::nullopt},
    {"ncclUint32", 4, std::nullopt},
    {"ncclInt8", 1, DataType::kByte},
    {"ncclUint8", 1, DataType::kByte},
    {"ncclFloat8e4m3", 1, std::nullopt},
    {"ncclFloat8e5m2", 1, std::nullopt},
}};

const TypeFacts* find(std::string_view word) {
    for (const TypeFacts& facts : kTypes)
        if (facts.word == word) return &facts;
    return nullptr;
}

/// How many times a rank's count is the payload: 1, or the number of ranks.
std::optional<bool> countsOncePerRank(std::string_view function) {
    for (const char* once : {"AllReduce", "Broadcast", "Reduce"})
        if (function == once) return false;
    for (const char* perRank : {"AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"})
        if (function == perRank) return true;
    return std::nullopt;
}

}  // namespace

NcclJoin::NcclJoin(std::function<StringId(std::string_view)> intern, std::size_t mostWaiting)
    : m_intern(std::move(intern)), m_mostWaiting(mostWaiting) {}

NcclJoin::Known& NcclJoin::known(const Key& key) {
    const auto [found, fresh] = m_known.try_emplace(key);
    if (fresh) found->second.arrival = ++m_arrivals;
    return found->second;
}

void NcclJoin::report(const CollectiveEvent& event, bool expected, std::uint64_t captured) {
    Known& known = this->known({event.group, event.sequence});
    known.reported = true;
    known.expected = expected;
    known.captured = captured;
    known.event = event;
}

void NcclJoin::record(const NcclRecord& record) {
    m_newRecords = true;
    if (record.kind == NcclRecordKind::kChannel) {
        ++m_counts.channels;
        return;
    }
    if (record.own.sequence == 0) {
        if (record.kind == NcclRecordKind::kCollective) ++m_counts.unannotated;
        return;
    }
    if (record.own.captured) return m_replays.record(record);
    Known& known = this->known({record.own.group, record.own.sequence});
    known.fromNccl |= record.kind != NcclRecordKind::kApi;  // symmetric kernels: the call alone
    switch (record.kind) {
        case NcclRecordKind::kApi:
            if (known.dataType == nullptr) known.dataType = record.callDataType;
            break;
        case NcclRecordKind::kLaunch:
            unclaim(std::exchange(known.outerLaunch, record.launch));
            claim(record.launch);
            break;
        case NcclRecordKind::kCollective:
            known.algorithm = record.algorithm;
            known.protocol = record.protocol;
            known.payload += ncclPayload(record).value_or(Bytes{}).count;
            [[fallthrough]];
        case NcclRecordKind::kPointToPoint:
            if (record.callDataType != nullptr) known.dataType = record.callDataType;
            if (record.launch != 0 && std::find(known.launches.begin(), known.launches.end(),
                                                record.launch) == known.launches.end()) {
                known.launches.push_back(record.launch);
                claim(record.launch);
            }
            break;
        case NcclRecordKind::kChannel:
            break;
    }
}

void NcclJoin::kernel(const capture::CollectiveKernel& kernel) {
    m_newKernels = true;
    if (kernel.replay) return m_replays.kernel(kernel, m_kernelDeliveries);
    m_lastLaunch = std::max(m_lastLaunch, kernel.launch);
    Kernel& known = m_kernels[kernel.launch];
    known.delivery = m_kernelDeliveries;
    known.range = known.range ? TimeRange{std::min(known.range->begin, kernel.start),
                                          std::max(known.range->end, kernel.end)}
                              : TimeRange{kernel.start, kernel.end};
}

/// Whose kernels are the collective's.
std::vector<std::uint64_t> NcclJoin::launchesOf(const Known& known) const {
    if (!known.launches.empty() || known.outerLaunch == 0) return known.launches;
    return {known.outerLaunch};
}

/// From the first kernel's start to the last one's end; nothing when one is missing.
std::optional<TimeRange> NcclJoin::kernelTimes(const Known& known) const {
    std::optional<TimeRange> range;
    for (const std::uint64_t launch : launchesOf(known)) {
        const auto found = m_kernels.find(launch);
        if (found == m_kernels.end() || !found->second.range) return std::nullopt;
        const TimeRange& one = *found->second.range;
        range = range ? TimeRange{std::min(range->begin, one.begin), std::max(range->end, one.end)}
                      : one;
    }
    return range;
}

/// Whether what is missing of it would have come by now.
bool NcclJoin::passed(Known& known) const {
    const std::vector<std::uint64_t> launches = launchesOf(known);
    // Of a launch that NCCL did not tell: it tells before the call returns, so before the report.
    const std::uint64_t now = launches.empty() ? m_recordDeliveries : m_kernelDeliveries;
    const bool later =
        launches.empty() || *std::max_element(launches.begin(), launches.end()) < m_lastLaunch;
    return waited(known, later, now);
}

/// Long enough since something `later` than it had come.
bool NcclJoin::waited(Known& known, bool later, std::uint64_t now) const {
    if (!later) return false;
    if (!known.passedAt) known.passedAt = now;
    return now - *known.passedAt >= kPatience;
}

StringId NcclJoin::text(const char* literal) {
    const auto [found, fresh] = m_texts.try_emplace(literal);
    if (fresh) found->second = m_intern(literal);
    return found->second;
}

/// What NCCL knows better than the engine.
void NcclJoin::describe(Known& known) {
    CollectiveEvent& event = known.event;
    if (known.algorithm != nullptr) event.algorithm = text(known.algorithm);
    if (known.protocol != nullptr) event.protocol = text(known.protocol);
    if (known.dataType != nullptr) event.dtype = ncclDataType(known.dataType).value_or(event.dtype);
    if (known.payload != 0) {
        if (known.payload != event.size.count) ++m_counts.sizeDiffers;
        event.size = {known.payload};
    }
}

void NcclJoin::countUses(const Known& known) {
    bool shared = false;
    for (const std::uint64_t launch : launchesOf(known)) shared |= ++m_kernels[launch].uses > 1;
    if (shared) ++m_counts.shared;
}

/// Whether the collective is as good as it will get.
bool NcclJoin::settle(Known& known, bool late) {
    if (known.captured != 0) return settleReplay(known, late);
    if (const auto range = kernelTimes(known)) {
        known.event.start = range->begin;
        known.event.end = range->end;
        describe(known);
        countUses(known);
        ++m_counts.joined;
        return true;
    }
    if (!late && known.expected && !passed(known)) return false;
    describe(known);
    ++(known.fromNccl ? m_counts.unjoined : m_counts.withoutEvents);
    return true;
}

/// NCCL reported it before the graph was launched for the first time, or never will.
bool NcclJoin::settleReplay(Known& known, bool late) {
    CollectiveEvent& event = known.event;
    const NcclChoice* choice = m_replays.find({event.group, known.captured});
    std::optional<TimeRange> range;
    if (choice != nullptr) {
        range = m_replays.kernelTimes(*choice, {event.start, event.end});
        const bool passed = waited(known, m_replays.past(event.end), m_kernelDeliveries);
        const bool comes = !choice->launches.empty() && known.expected;
        if (!range && comes && !late && !passed) return false;
        known.algorithm = choice->algorithm;
        known.protocol = choice->protocol;
        known.dataType = choice->dataType;
        known.payload = choice->payload;
    }
    if (range) {
        event.start = range->begin;
        event.end = range->end;
    }
    describe(known);
    ++(range ? m_counts.joined : m_counts.withoutEvents);
    return true;
}

void NcclJoin::claim(std::uint64_t launch) {
    if (launch != 0) ++m_kernels[launch].claims;
}

void NcclJoin::unclaim(std::uint64_t launch) {
    const auto found = m_kernels.find(launch);
    if (launch == 0 || found == m_kernels.end() || --found->second.claims > 0) return;
    if (!found->second.range) m_kernels.erase(found);
}

/// It waits for its kernels no longer.
void NcclJoin::drop(const Known& known) {
    for (const std::uint64_t launch : known.launches) unclaim(launch);
    unclaim(known.outerLaunch);
}

void NcclJoin::take(std::vector<CollectiveEvent>& events, bool everything) {
    if (std::exchange(m_newKernels, false)) ++m_kernelDeliveries;
    if (std::exchange(m_newRecords, false)) ++m_recordDeliveries;
    const std::uint64_t waiting = everything ? m_arrivals + 1 : firstThatWaits();
    for (auto one = m_known.begin(); one != m_known.end();) {
        Known& known = one->second;
        const bool late = known.arrival < waiting;
        if (!known.reported && late) {
            ++m_counts.unreported;
        } else if (known.reported && settle(known, late)) {
            events.push_back(known.event);
        } else {
            ++one;
            continue;
        }
        drop(known);
        one = m_known.erase(one);
    }
    forget(everything);
}

/// What arrived before it goes when there are too many: what NCCL reported and the engine never
/// reports, and collectives whose kernels do not come any more.
std::uint64_t NcclJoin::firstThatWaits() const {
    if (m_known.size() <= m_mostWaiting) return 0;
    std::vector<std::uint64_t> arrivals;
    for (const auto& [key, known] : m_known) arrivals.push_back(known.arrival);
    // Half of them, so that this is rare.
    const auto kept = arrivals.end() - static_cast<std::ptrdiff_t>((m_mostWaiting + 1) / 2);
    std::nth_element(arrivals.begin(), kept, arrivals.end());
    return *kept;
}

/// Kernels stay a while after they came: their collective may be reported later, others may share
/// them.
void NcclJoin::forget(bool everything) {
    m_replays.forgetBefore(m_kernelDeliveries - std::min(m_kernelDeliveries, kKept));
    std::erase_if(m_kernels, [&](const auto& entry) {
        const Kernel& kernel = entry.second;
        const bool old =
            everything || (kernel.claims == 0 && m_kernelDeliveries - kernel.delivery >= kKept);
        if (old && kernel.range && kernel.uses == 0) ++m_counts.orphanKernels;
        return old;
    });
}

std::int64_t ncclElementBytes(std::string_view dataType) {
    const TypeFacts* facts = find(dataType);
    return facts == nullptr ? 0 : facts->bytes;
}

std::optional<DataType> ncclDataType(std::string_view dataType) {
    const TypeFacts* facts = find(dataType);
    return facts == nullptr ? std::nullopt : facts->type;
}

std::optional<Bytes> ncclPayload(const NcclRecord& record) {
    if (record.function == nullptr) return std::nullopt;
    const std::string_view function = record.function;
    const auto perRank = countsOncePerRank(function);
    if (!perRank || (*perRank && record.ranks <= 0)) return std::nullopt;
    const bool api = record.kind == NcclRecordKind::kApi;
    const bool bytes = !api && (function == "AllGather" || function == "Broadcast");
    const char* type = api ? record.callDataType : record.dataType;
    const std::int64_t element = bytes ? 1 : type == nullptr ? 0 : ncclElementBytes(type);
    if (element == 0) return std::nullopt;
    const auto count = static_cast<std::int64_t>(api ? record.callCount : record.count);
    return Bytes{count * element * (*perRank ? record.ranks : 1)};
}

}  // namespace shardscope::collectors

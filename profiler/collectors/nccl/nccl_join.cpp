#include "profiler/collectors/nccl/nccl_join.h"

#include "profiler/collectors/nccl/nccl_payload.h"

#include <algorithm>

namespace shardscope::collectors {

NcclJoin::NcclJoin(std::function<StringId(std::string_view)> intern, Duration wait)
    : m_intern(std::move(intern)), m_wait(wait) {}

void NcclJoin::report(const CollectiveEvent& event, bool expected, Timestamp now) {
    Known& known = m_known[{event.group, event.sequence}];
    known.since = now;
    known.reported = true;
    known.expected = expected;
    known.event = event;
}

NcclJoin::Known& NcclJoin::known(const NcclRecord& record, Timestamp now) {
    const auto [found, fresh] = m_known.try_emplace({record.own.group, record.own.sequence});
    if (fresh) found->second.since = now;
    return found->second;
}

void NcclJoin::record(const NcclRecord& record, Timestamp now) {
    if (record.kind == NcclRecordKind::kChannel) {
        ++m_counts.channels;
        return;
    }
    if (record.own.sequence == 0) {
        if (record.kind == NcclRecordKind::kCollective) ++m_counts.unannotated;
        return;
    }
    Known& known = this->known(record, now);
    known.told |= record.kind != NcclRecordKind::kApi;  // symmetric kernels: the call alone
    known.graph |= record.graphCaptured;
    switch (record.kind) {
        case NcclRecordKind::kApi:
            if (known.dataType == nullptr) known.dataType = record.callDataType;
            break;
        case NcclRecordKind::kLaunch:
            known.outerLaunch = record.launch;
            break;
        case NcclRecordKind::kCollective:
            known.algorithm = record.algorithm;
            known.protocol = record.protocol;
            known.payload += ncclPayload(record).value_or(Bytes{}).count;
            [[fallthrough]];
        case NcclRecordKind::kPointToPoint:
            if (record.callDataType != nullptr) known.dataType = record.callDataType;
            if (record.launch != 0 && std::find(known.launches.begin(), known.launches.end(),
                                                record.launch) == known.launches.end())
                known.launches.push_back(record.launch);
            break;
        case NcclRecordKind::kChannel:
            break;
    }
}

void NcclJoin::kernel(const capture::CollectiveKernel& kernel, Timestamp now) {
    const auto [found, fresh] = m_kernels.try_emplace(kernel.launch);
    TimeRange& range = found->second.range;
    found->second.since = now;
    range = fresh ? TimeRange{kernel.start, kernel.end}
                  : TimeRange{std::min(range.begin, kernel.start), std::max(range.end, kernel.end)};
}

/// From the first kernel's start to the last one's end; false when one is missing.
bool NcclJoin::kernelTimes(const Known& known, TimeRange& range) const {
    bool any = false;
    const auto add = [&](std::uint64_t launch) {
        const auto found = m_kernels.find(launch);
        if (found == m_kernels.end()) return false;
        const TimeRange& one = found->second.range;
        range =
            any ? TimeRange{std::min(range.begin, one.begin), std::max(range.end, one.end)} : one;
        any = true;
        return true;
    };
    if (known.launches.empty()) return known.outerLaunch != 0 && add(known.outerLaunch);
    return std::all_of(known.launches.begin(), known.launches.end(), add);
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
    for (const std::uint64_t launch : known.launches) ++m_kernels[launch].uses;
    if (known.launches.empty() && known.outerLaunch != 0) ++m_kernels[known.outerLaunch].uses;
    const bool shared = std::any_of(known.launches.begin(), known.launches.end(),
                                    [&](auto launch) { return m_kernels[launch].uses > 1; });
    if (shared) ++m_counts.shared;
}

/// Whether the collective is as good as it will get.
bool NcclJoin::settle(Known& known, bool late) {
    TimeRange range;
    // A captured launch runs no kernel; its replays carry another id.
    if (!known.graph && kernelTimes(known, range)) {
        known.event.start = range.begin;
        known.event.end = range.end;
        describe(known);
        countUses(known);
        ++m_counts.joined;
        return true;
    }
    if (!late && known.expected && !known.graph) return false;
    describe(known);
    ++(known.told && !known.graph ? m_counts.unjoined : m_counts.withoutEvents);
    return true;
}

void NcclJoin::take(std::vector<CollectiveEvent>& events, Timestamp now, bool everything) {
    for (auto one = m_known.begin(); one != m_known.end();) {
        Known& known = one->second;
        const bool late = everything || now - known.since >= m_wait;
        if (!known.reported && late) {
            ++m_counts.unreported;
        } else if (known.reported && settle(known, late)) {
            events.push_back(known.event);
        } else {
            ++one;
            continue;
        }
        one = m_known.erase(one);
    }
    forget(now, everything);
}

/// Kernels stay a while after their last use: others may share them.
void NcclJoin::forget(Timestamp now, bool everything) {
    std::erase_if(m_kernels, [&](const auto& entry) {
        const bool old = everything || now - entry.second.since >= Duration{2 * m_wait.ns};
        if (old && entry.second.uses == 0) ++m_counts.orphanKernels;
        return old;
    });
}

}  // namespace shardscope::collectors

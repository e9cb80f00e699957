#include "profiler/collectors/cupti/record_reader.h"

#include <cupti.h>

#include <cstdlib>

namespace shardscope::collectors::cupti {
namespace {

static_assert(CUPTI_API_VERSION / 100 == kCuptiVersion / 100,
              "the layouts below are those of CUDA 13.0");
static_assert(sizeof(CUpti_ActivityKernel10) == 216);
static_assert(sizeof(CUpti_ActivityMemcpy6) == 96);
static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == 96);
static_assert(sizeof(CUpti_ActivityMemset4) == 88);
static_assert(sizeof(CUpti_ActivityMemory4) == 128);
static_assert(sizeof(CUpti_ActivityAPI) == 40);
static_assert(sizeof(CUpti_ActivityExternalCorrelation) == 24);
static_assert(sizeof(CUpti_ActivitySynchronization2) == 56);
static_assert(sizeof(CUpti_ActivityCudaEvent2) == 56);
static_assert(sizeof(CUpti_ActivityOverhead3) == 56);
static_assert(sizeof(CUpti_ActivityGraphTrace2) == 56);

template <class Activity>
Interval interval(const Activity& a) {
    return {static_cast<std::int64_t>(a.start), static_cast<std::int64_t>(a.end)};
}

template <class Activity>
DeviceWork work(const Activity& a) {
    return {interval(a), {a.contextId, a.streamId}, a.correlationId, a.graphNodeId};
}

KernelRecord kernel(const CUpti_ActivityKernel10& a, KernelNames& names) {
    KernelRecord record;
    record.work = work(a);
    record.name = names.add(a.name == nullptr ? "unnamed kernel" : a.name);
    record.grid = {a.gridX, a.gridY, a.gridZ};
    record.block = {a.blockX, a.blockY, a.blockZ};
    record.registers = a.registersPerThread;
    record.sharedBytes = std::int64_t{a.staticSharedMemory} + a.dynamicSharedMemory;
    return record;
}

template <class Activity>
CopyRecord copy(const Activity& a) {
    CopyRecord record;
    record.work = work(a);
    record.bytes = a.bytes;
    record.copyKind = a.copyKind;
    record.from = a.srcKind;
    record.to = a.dstKind;
    return record;
}

CopyRecord peerCopy(const CUpti_ActivityMemcpyPtoP4& a) {
    CopyRecord record = copy(a);
    record.peer = true;
    record.fromDevice = a.srcDeviceId;
    record.toDevice = a.dstDeviceId;
    return record;
}

GraphRecord graph(const CUpti_ActivityGraphTrace2& a) {
    return {{interval(a), {a.contextId, a.streamId}, a.correlationId, 0}, a.graphId};
}

CallRecord call(const CUpti_ActivityAPI& a, CallDomain domain) {
    return {interval(a), domain, a.cbid, a.threadId, a.correlationId, a.returnValue};
}

SyncType syncType(CUpti_ActivitySynchronizationType type) {
    switch (type) {
        case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
            return SyncType::kEvent;
        case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
            return SyncType::kStreamWait;
        case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
            return SyncType::kStream;
        case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
            return SyncType::kContext;
        default:
            return SyncType::kUnknown;
    }
}

// CUPTI marks absence with 32 ones, also in its 64-bit field.
std::uint64_t eventSync(std::uint64_t id) {
    return id == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? kNoSyncId : id;
}

SyncRecord synchronization(const CUpti_ActivitySynchronization2& a) {
    return {interval(a),
            syncType(a.type),
            a.correlationId,
            a.contextId,
            a.streamId,
            a.cudaEventId,
            eventSync(a.cudaEventSyncId)};
}

AllocationRecord allocation(const CUpti_ActivityMemory4& a) {
    AllocationRecord record;
    record.time = static_cast<std::int64_t>(a.timestamp);
    record.address = a.address;
    record.bytes = a.bytes;
    record.allocates = a.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    record.onDevice = a.memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE &&
                      a.memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    return record;
}

template <class Activity>
const Activity& as(const void* activity) {
    return *static_cast<const Activity*>(activity);
}

}  // namespace

void RecordReader::read(std::uint8_t* buffer, std::size_t validBytes,
                        std::vector<Record>& records) {
    void* activity = nullptr;
    int code = kCuptiSuccess;
    while ((code = m_api.nextRecord(buffer, validBytes, activity)) == kCuptiSuccess) {
        ++m_counts.records;
        if (!append(activity, records)) ++m_counts.unknown;
    }
    // The size of a record belongs to its kind, so nothing behind a broken one can be found.
    if (code != kCuptiEndOfBuffer) ++m_counts.broken;
}

bool RecordReader::append(void* activity, std::vector<Record>& records) {
    switch (as<CUpti_Activity>(activity).kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            records.emplace_back(kernel(as<CUpti_ActivityKernel10>(activity), m_names));
            return true;
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            records.emplace_back(copy(as<CUpti_ActivityMemcpy6>(activity)));
            return true;
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            records.emplace_back(peerCopy(as<CUpti_ActivityMemcpyPtoP4>(activity)));
            return true;
        case CUPTI_ACTIVITY_KIND_MEMSET: {
            const auto& a = as<CUpti_ActivityMemset4>(activity);
            records.emplace_back(SetRecord{work(a), a.bytes});
            return true;
        }
        case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
            records.emplace_back(graph(as<CUpti_ActivityGraphTrace2>(activity)));
            return true;
        case CUPTI_ACTIVITY_KIND_RUNTIME:
            records.emplace_back(call(as<CUpti_ActivityAPI>(activity), CallDomain::kRuntime));
            return true;
        case CUPTI_ACTIVITY_KIND_DRIVER:
            records.emplace_back(call(as<CUpti_ActivityAPI>(activity), CallDomain::kDriver));
            return true;
        case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
            const auto& a = as<CUpti_ActivityExternalCorrelation>(activity);
            if (a.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 &&
                a.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1) {
                return false;
            }
            const auto stack = a.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
                                   ? capture::AnnotationStack::kContext
                                   : capture::AnnotationStack::kNcclLaunch;
            records.emplace_back(ExternalRecord{stack, a.externalId, a.correlationId});
            return true;
        }
        case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
            records.emplace_back(synchronization(as<CUpti_ActivitySynchronization2>(activity)));
            return true;
        case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
            const auto& a = as<CUpti_ActivityCudaEvent2>(activity);
            records.emplace_back(
                EventRecord{{a.contextId, a.streamId}, a.eventId, eventSync(a.cudaEventSyncId)});
            return true;
        }
        case CUPTI_ACTIVITY_KIND_MEMORY2:
            records.emplace_back(allocation(as<CUpti_ActivityMemory4>(activity)));
            return true;
        case CUPTI_ACTIVITY_KIND_OVERHEAD: {
            const auto& a = as<CUpti_ActivityOverhead3>(activity);
            std::free(a.overheadData);  // the client's to free (cupti_activity.h)
            records.emplace_back(
                OverheadRecord{interval(a), static_cast<std::uint32_t>(a.overheadKind)});
            return true;
        }
        default:
            return false;
    }
}

}  // namespace shardscope::collectors::cupti

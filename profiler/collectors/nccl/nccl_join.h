// Puts together what the engine asked for, what NCCL made of it and when the kernel ran.
//
// The engine's word is the authority: each of its collectives comes out exactly once, with the
// kernel's own times, NCCL's algorithm and protocol when they are known, and with the times of
// device events otherwise. Inputs arrive in any order.
//
// A tracer keeps a buffer back while one kernel in it is still running, for seconds when it likes
// (cupti_activity.h, cuptiActivityFlushAll), so no clock says that a kernel will not come. But it
// hands on a thread's launches roughly in their order: once kernels launched later have come, and a
// few deliveries more, one that is missing was dropped. Pure; one thread.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/nccl/nccl_records.h"
#include "profiler/collectors/nccl/nccl_replays.h"
#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::collectors {

struct NcclJoinCounts {
    std::uint64_t joined = 0;    ///< with kernel times
    std::uint64_t unjoined = 0;  ///< NCCL reported it, its kernel did not appear in time
    std::uint64_t withoutEvents =
        0;  ///< NCCL reported nothing: one rank, symmetric memory; or a replay without its kernel
    std::uint64_t shared = 0;         ///< joined, and not the first to claim their kernel
    std::uint64_t sizeDiffers = 0;    ///< NCCL's payload is not the engine's
    std::uint64_t unannotated = 0;    ///< NCCL's collectives that the engine does not know
    std::uint64_t unreported = 0;     ///< annotated, but the engine never reported them
    std::uint64_t orphanKernels = 0;  ///< kernels whose launch no collective names
    std::uint64_t channels = 0;       ///< channel records seen
};

class NcclJoin {
public:
    /// `intern` numbers algorithm and protocol names. Of more than `mostWaiting` collectives the
    /// oldest come out as they are.
    explicit NcclJoin(std::function<StringId(std::string_view)> intern,
                      std::size_t mostWaiting = std::size_t{1} << 16);

    /// One of the engine's collectives, complete but for algorithm and protocol; start and end
    /// from device events. `expected`: that NCCL will tell of it. Without (one rank, recording off)
    /// it comes out at once. `captured`: a replay's, by the number under which NCCL reported it
    /// when it was captured; it is not counted as failed, whatever is missing.
    void report(const CollectiveEvent& event, bool expected, std::uint64_t captured = 0);
    void record(const NcclRecord& record);
    void kernel(const capture::CollectiveKernel& kernel);

    /// Ends what was delivered since the last call. Appends what is complete or will not be any
    /// more; all when `everything`.
    void take(std::vector<CollectiveEvent>& events, bool everything);

    [[nodiscard]] const NcclJoinCounts& counts() const { return m_counts; }

private:
    using Key = std::pair<std::uint32_t, std::uint64_t>;  ///< group, sequence
    struct Known {
        std::uint64_t arrival = 0;  ///< counts up
        bool reported = false;
        bool expected = true;
        std::uint64_t captured = 0;  ///< of a replay
        CollectiveEvent event;
        std::vector<std::uint64_t> launches;  ///< of its tasks
        std::uint64_t outerLaunch = 0;        ///< made under its annotation, tasks unknown
        bool fromNccl = false;                ///< a launch or task of NCCL's came
        const char* algorithm = nullptr;
        const char* protocol = nullptr;
        const char* dataType = nullptr;
        std::int64_t payload = 0;
        /// Delivery by which something later had come; see passed().
        std::optional<std::uint64_t> passedAt;
    };
    struct Kernel {
        std::optional<TimeRange> range;  ///< none: it has not come
        std::uint64_t delivery = 0;      ///< with which it came
        std::uint64_t uses = 0;
        int claims = 0;  ///< by collectives that wait
    };
    Known& known(const Key& key);
    void claim(std::uint64_t launch);
    void unclaim(std::uint64_t launch);
    [[nodiscard]] std::vector<std::uint64_t> launchesOf(const Known& known) const;
    [[nodiscard]] std::optional<TimeRange> kernelTimes(const Known& known) const;
    [[nodiscard]] bool passed(Known& known) const;
    [[nodiscard]] bool waited(Known& known, bool later, std::uint64_t now) const;
    bool settleReplay(Known& known, bool late);
    void describe(Known& known);
    void countUses(const Known& known);
    bool settle(Known& known, bool late);
    void drop(const Known& known);
    [[nodiscard]] std::uint64_t firstThatWaits() const;
    void forget(bool everything);
    StringId text(const char* literal);

    std::function<StringId(std::string_view)> m_intern;
    const std::size_t m_mostWaiting;
    std::map<Key, Known> m_known;
    NcclReplays m_replays;
    std::unordered_map<std::uint64_t, Kernel> m_kernels;  // by launch
    std::unordered_map<const char*, StringId> m_texts;
    NcclJoinCounts m_counts;

    std::uint64_t m_arrivals = 0;
    std::uint64_t m_lastLaunch = 0;  ///< the latest whose kernel has come
    /// Takes that brought kernels, or records of NCCL.
    std::uint64_t m_kernelDeliveries = 0, m_recordDeliveries = 0;
    bool m_newKernels = false, m_newRecords = false;
};

// What NCCL's words mean: element sizes, payloads, types. Pure.

/// Bytes of an element of "ncclBfloat16" and the like; 0 when the word is unknown.
[[nodiscard]] std::int64_t ncclElementBytes(std::string_view dataType);

/// "ncclBfloat16" -> kBFloat16; nothing for types the engine does not use.
[[nodiscard]] std::optional<DataType> ncclDataType(std::string_view dataType);

/// Whole payload S of algbw = S/t (nccl-tests doc/PERFORMANCE.md): gathered size, size before
/// reduction. From a kCollective record, whose count NCCL has rewritten to bytes for AllGather
/// and Broadcast, or from a kApi record, which holds what the caller passed. Nothing when the
/// function is not a collective or the number of ranks is unknown.
[[nodiscard]] std::optional<Bytes> ncclPayload(const NcclRecord& record);

}  // namespace shardscope::collectors

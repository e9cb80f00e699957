// Puts together what the engine asked for, what NCCL made of it and when the kernel ran.
//
// The engine's word is the authority: each of its collectives comes out exactly once, with the
// kernel's own times, NCCL's algorithm and protocol when they are known, and with the times of
// device events otherwise. Inputs arrive in any order. Pure; one thread.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/nccl/nccl_records.h"
#include "storage/model/events.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::collectors {

struct NcclJoinCounts {
    std::uint64_t joined = 0;         ///< with kernel times
    std::uint64_t unjoined = 0;       ///< NCCL told of it, its kernel did not appear in time
    std::uint64_t withoutEvents = 0;  ///< NCCL told nothing: one rank, symmetric memory, replay
    std::uint64_t shared = 0;         ///< joined, and not the first to claim their kernel
    std::uint64_t sizeDiffers = 0;    ///< NCCL's payload is not the engine's
    std::uint64_t unannotated = 0;    ///< NCCL's collectives that the engine does not know
    std::uint64_t unreported = 0;     ///< annotated, but the engine never reported them
    std::uint64_t orphanKernels = 0;  ///< kernels whose launch no collective names
    std::uint64_t channels = 0;       ///< channel records seen
};

class NcclJoin {
public:
    /// `intern` numbers algorithm and protocol names. A report waits `wait` at most for the rest.
    NcclJoin(std::function<StringId(std::string_view)> intern, Duration wait = {2'000'000'000});

    /// One of the engine's collectives, complete but for algorithm and protocol; start and end
    /// from device events. `expected`: that NCCL will tell of it. Without (one rank, a graph's
    /// replay, recording off) it comes out at once.
    void report(const CollectiveEvent& event, bool expected, Timestamp now);
    void record(const NcclRecord& record, Timestamp now);
    void kernel(const capture::CollectiveKernel& kernel, Timestamp now);

    /// Appends what is complete or has waited long enough; all when `everything`.
    void take(std::vector<CollectiveEvent>& events, Timestamp now, bool everything);

    [[nodiscard]] const NcclJoinCounts& counts() const { return m_counts; }

private:
    using Key = std::pair<std::uint32_t, std::uint64_t>;  ///< group, sequence
    struct Known {
        Timestamp since;
        bool reported = false;
        bool expected = true;
        CollectiveEvent event;
        std::vector<std::uint64_t> launches;  ///< of its tasks
        std::uint64_t outerLaunch = 0;        ///< made under its annotation, tasks unknown
        bool told = false;                    ///< a launch or task of NCCL's
        bool graph = false;
        const char* algorithm = nullptr;
        const char* protocol = nullptr;
        const char* dataType = nullptr;
        std::int64_t payload = 0;
    };
    struct Kernel {
        TimeRange range;
        Timestamp since;
        std::uint64_t uses = 0;
    };
    Known& known(const NcclRecord& record, Timestamp now);
    [[nodiscard]] bool kernelTimes(const Known& known, TimeRange& range) const;
    void describe(Known& known);
    void countUses(const Known& known);
    bool settle(Known& known, bool late);
    void forget(Timestamp now, bool everything);
    StringId text(const char* literal);

    std::function<StringId(std::string_view)> m_intern;
    const Duration m_wait;
    std::map<Key, Known> m_known;
    std::unordered_map<std::uint64_t, Kernel> m_kernels;  // by launch
    std::unordered_map<const char*, StringId> m_texts;
    NcclJoinCounts m_counts;
};

}  // namespace shardscope::collectors

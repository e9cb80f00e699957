// Which launch context each node of a CUDA graph was captured in.
//
// A replay launches the whole graph under one correlation id, long after the operators that
// were captured; the node's id in a kernel's record leads back to them. Of too many nodes the
// oldest are forgotten: graphs that were captured anew. Any thread.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/cupti/bounded_map.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <optional>

namespace shardscope::collectors::cupti {

struct CapturedLaunch {
    capture::LaunchContext context;
    std::uint64_t ncclLaunch = 0;  ///< 0: none
    friend bool operator==(const CapturedLaunch&, const CapturedLaunch&) = default;
};

class GraphNodes {
public:
    static constexpr std::size_t kMostNodes = std::size_t{1} << 18;

    void add(std::uint64_t node, const CapturedLaunch& launch);
    /// Instantiating a graph gives its nodes new ids.
    void clone(std::uint64_t original, std::uint64_t node);
    [[nodiscard]] std::optional<CapturedLaunch> find(std::uint64_t node) const;

private:
    mutable Mutex m_mutex;
    BoundedMap<std::uint64_t, CapturedLaunch> m_launches SHARDSCOPE_GUARDED_BY(m_mutex){kMostNodes};
};

}  // namespace shardscope::collectors::cupti

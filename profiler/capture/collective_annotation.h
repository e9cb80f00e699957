// Which of the engine's collectives the calling thread is issuing, for whoever is called below.
//
// Set around the library call by the communicator's hook; read by the NCCL profiler on the same
// thread. Vendor-free, no cost beyond a thread-local store.
#pragma once

#include <cstdint>
#include <utility>

namespace shardscope::capture {

struct CollectiveAnnotation {
    std::uint32_t group = 0;     ///< communicator; 0 is the world
    std::uint64_t sequence = 0;  ///< counts from 1 within the group; 0: no collective
    bool captured = false;       ///< into a graph: `sequence` is its number there
    friend bool operator==(const CollectiveAnnotation&, const CollectiveAnnotation&) = default;
};

inline CollectiveAnnotation& threadCollective() {
    thread_local CollectiveAnnotation annotation;
    return annotation;
}

class CollectiveScope {
public:
    explicit CollectiveScope(CollectiveAnnotation annotation)
        : m_previous(std::exchange(threadCollective(), annotation)) {}
    ~CollectiveScope() { threadCollective() = m_previous; }
    CollectiveScope(const CollectiveScope&) = delete;
    CollectiveScope& operator=(const CollectiveScope&) = delete;

private:
    CollectiveAnnotation m_previous;
};

}  // namespace shardscope::capture

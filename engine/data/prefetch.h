// Prepares the next batches on a thread of its own while the step computes.
//
// The thread makes plain arrays and no tensors: what a step allocates stays on the step's
// thread, where the recording attributes it.
#pragma once

#include "engine/data/dataset.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace shardscope::data {

class Prefetcher {
public:
    /// What makes the batch of an index; called on the thread, one call at a time.
    using Make = std::function<HostBatch(std::int64_t index)>;

    /// Keeps up to `depth` batches ready. The thread starts with the first take() and joins
    /// with the destructor, after the batch in the making.
    Prefetcher(Make make, std::size_t depth);
    Prefetcher(const Prefetcher&) = delete;
    Prefetcher& operator=(const Prefetcher&) = delete;

    /// The batch of `index`, ready when it is the one after the last taken; any other starts
    /// anew from there. Throws what making it threw. One caller at a time.
    [[nodiscard]] HostBatch take(std::int64_t index);

private:
    struct Made {
        std::int64_t index = 0;
        HostBatch batch;
        std::exception_ptr error;
    };
    void work(const std::stop_token& stop);
    [[nodiscard]] Made make(std::int64_t index) const;

    Make m_make;
    std::size_t m_depth;
    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::deque<Made> m_ready;  ///< consecutive indexes
    std::int64_t m_next = 0;   ///< index to make next
    std::jthread m_thread;     ///< last: stops before what it uses goes
};

}  // namespace shardscope::data

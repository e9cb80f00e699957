// Calls that wait for their answers. One thread takes them in, another answers them.
#pragma once

#include "storage/model/mutex.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/remote/calls.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace shardscope::storage::remote {

struct WaitingCall {
    std::uint32_t number = 0;
    Call call;
    Generation generation;  ///< superseded when it is cancelled
};

class CallQueue {
public:
    /// False: so many wait that nobody honest asked them.
    [[nodiscard]] bool put(std::uint32_t number, Call call);
    /// Waiting, or being answered.
    void cancel(std::uint32_t number);
    /// Cancels all; no more will come.
    void close();
    /// Waits for the next; nothing: none will come.
    std::optional<WaitingCall> take();

private:
    struct Entry {
        WaitingCall waiting;
        Generations generations;
    };
    static constexpr std::size_t kMostWaiting = 64;

    Mutex m_mutex;
    Condition m_changed;
    std::deque<Entry> m_entries SHARDSCOPE_GUARDED_BY(m_mutex);
    /// Of what was taken last.
    std::optional<Entry> m_taken SHARDSCOPE_GUARDED_BY(m_mutex);
    bool m_closed SHARDSCOPE_GUARDED_BY(m_mutex) = false;
};

}  // namespace shardscope::storage::remote

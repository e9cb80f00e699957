// Hears when the connection to a peer ends, and ends the messages to and from it.
//
// Gloo itself tells only messages that have not begun: one that is half written, or half read, when
// the peer dies waits until its timeout (tcp::Pair::signalException() passes over the operations in
// hand, as of LibTorch 2.11). A receive that nothing answers never begins, so it is always
// reported.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::comm {

class ConnectionEnd {
public:
    using Work = c10::intrusive_ptr<c10d::Work>;
    /// No ring's: they count from zero.
    static constexpr int kTag = 0x7fffffff;

    /// `receive` begins a receive of one byte on kTag, and throws where the connection has ended.
    explicit ConnectionEnd(const std::function<Work(std::vector<at::Tensor>&)>& receive);
    ~ConnectionEnd();
    ConnectionEnd(const ConnectionEnd&) = delete;
    ConnectionEnd& operator=(const ConnectionEnd&) = delete;

    /// `message` is given up when the connection ends, or has ended. Any thread.
    void add(const Work& message);
    void remove(const Work& message);

private:
    void listen();

    std::vector<at::Tensor> m_row;
    const Work m_neverAnswered;
    std::mutex m_mutex;
    std::vector<Work> m_messages;  // guarded by m_mutex
    bool m_ended = false;          // guarded by m_mutex
    std::thread m_thread;          // last: uses all of the above
};

}  // namespace shardscope::comm

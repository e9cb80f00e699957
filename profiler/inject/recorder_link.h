// This process's connection to its recorder: frames out, orders in.
//
// Posting is for any thread and never waits; everything else is the drain thread's. A program that
// closes all descriptors closes ours too, and may have opened its own file under that number: each
// send checks that it is still our socket, and connects again where it is not.
#pragma once

#include "profiler/capture/program_link.h"
#include "storage/model/mutex.h"
#include "storage/model/result.h"

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace shardscope::inject {

class RecorderLink {
public:
    /// Frames that wait for the recorder; further chunks are dropped, and their events counted.
    static constexpr std::size_t kMostWaiting = std::size_t{16} << 20;

    /// Takes orders: CaptureChange, ClockLine.
    using Take = std::function<void(const capture::LinkMessage&)>;

    /// Connects to the socket at `path`, without waiting for the other side. Errors: kLaunch.
    static Result<int> connectTo(const std::string& path);

    /// `descriptor` of connectTo(). `hello` is the first word on each connection.
    RecorderLink(std::string path, int descriptor, capture::ProcessHello hello);

    /// False: too much waits, it is dropped. Any thread.
    bool post(const capture::LinkMessage& message);
    /// Sends what waits, and hands orders to `take`, for `waitMs` at most; returns early when there
    /// is something to send or an order came.
    void turn(int waitMs, const Take& take);
    /// Ends turn() of the drain thread early. Any thread.
    void wake();
    /// The recorder has ended, or refuses us: nothing will be sent any more.
    [[nodiscard]] bool isLost() const { return m_lost.load(std::memory_order_relaxed); }
    [[nodiscard]] bool isEmpty() const;

    /// In the child after fork(): closes our descriptors there, and nothing else.
    void closeInChild() const;

private:
    [[nodiscard]] bool isOurs() const;
    void reconnect();
    void send();
    void receive(const Take& take);

    const std::string m_path;
    const capture::ProcessHello m_hello;
    std::atomic<int> m_descriptor;
    std::atomic<int> m_wake;
    ino_t m_socketNode = 0, m_wakeNode = 0;
    std::atomic<bool> m_lost{false};
    capture::LinkReader m_reader;
    std::vector<std::byte> m_current;  ///< being sent
    std::size_t m_sent = 0;            ///< of it
    bool m_greets = true;              ///< it is the first word

    mutable Mutex m_mutex;
    std::deque<std::vector<std::byte>> m_waiting SHARDSCOPE_GUARDED_BY(m_mutex);
    std::size_t m_waitingBytes SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
};

}  // namespace shardscope::inject

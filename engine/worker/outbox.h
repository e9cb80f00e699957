// The one thread of a rank that writes to its agent: posted messages at once, captured events
// as the session drains them. A stalled reader stalls only this thread; the capture queues
// then fill, drop and count.
#pragma once

#include "engine/run/protocol/messages.h"
#include "profiler/capture/capture_session.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::worker {

class Outbox final : public capture::EventSink {
public:
    /// Writes to `fd` for rank `rank`.
    Outbox(int fd, RankId rank);
    ~Outbox() override;

    /// Any thread; never blocks on the peer. Of a peer that takes nothing for long, figures and log
    /// lines are dropped and counted; what ends a run is kept.
    void post(const run::Message& message);

    /// Posts a diagnostic of this rank and moment; once started.
    void raise(Severity severity, std::string code, std::string message, std::string remedy);
    /// Posts why the rank ends, and returns it.
    tl::unexpected<Error> fail(const Error& error, std::string code);

    /// Starts draining `session` a few times a second; `sample(last)` is called before each drain,
    /// with true before the last.
    void start(capture::CaptureSession& session, std::function<void(bool last)> sample);
    /// Drains everything, writes what is queued, then `last`, and ends the thread. Any thread;
    /// later calls wait for the first.
    void finish(const std::optional<run::Message>& last = std::nullopt);

    // EventSink, on the outbox thread.
    void strings(StringId first, const std::vector<std::string>& texts) override;
    void lane(const LaneFacts& lane) override;
    void chunk(const columns::ChunkBytes& bytes) override;

private:
    void run();
    void writePosted();
    void tellOfLost(std::int64_t lost);
    void write(const std::vector<std::byte>& frame);

    const int m_fd;
    const RankId m_rank;
    capture::CaptureSession* m_session = nullptr;
    std::function<void(bool last)> m_sample;
    bool m_broken = false;  ///< the peer is gone; outbox thread

    std::mutex m_ending;  // held by finish()
    std::mutex m_mutex;
    std::condition_variable m_wakeUp;
    std::vector<std::vector<std::byte>> m_posted;  // guarded by m_mutex
    std::size_t m_postedBytes = 0;                 // guarded by m_mutex
    std::int64_t m_lost = 0;                       // guarded by m_mutex
    bool m_finishing = false;                      // guarded by m_mutex
    std::thread m_thread;
};

}  // namespace shardscope::worker

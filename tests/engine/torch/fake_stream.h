// A thread that works off a queue; while a capture takes it, what it is given goes there instead.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace shardscope::test {

class FakeStream;

/// Where a stream's work goes that is not to run yet.
class FakeTaker {
public:
    virtual ~FakeTaker() = default;
    virtual void take(FakeStream& from, std::function<void()> work) = 0;
};

class FakeStream {
public:
    FakeStream() : m_thread([this] { run(); }) {}
    /// Runs what is queued first.
    ~FakeStream() {
        {
            const std::lock_guard lock(m_mutex);
            m_stopping = true;
        }
        m_wakeUp.notify_one();
        m_thread.join();
    }
    FakeStream(const FakeStream&) = delete;
    FakeStream& operator=(const FakeStream&) = delete;

    void queue(std::function<void()> work) {
        if (const auto taker = this->taker()) return taker->take(*this, std::move(work));
        {
            const std::lock_guard lock(m_mutex);
            m_queue.push_back(std::move(work));
        }
        m_wakeUp.notify_one();
    }
    void divertTo(std::shared_ptr<FakeTaker> taker) {
        const std::lock_guard lock(m_mutex);
        m_taker = std::move(taker);
    }
    [[nodiscard]] bool diverted() { return taker() != nullptr; }

private:
    std::shared_ptr<FakeTaker> taker() {
        const std::lock_guard lock(m_mutex);
        return m_taker;
    }

    void run() {
        for (;;) {
            std::function<void()> work;
            {
                std::unique_lock lock(m_mutex);
                m_wakeUp.wait(lock, [this] { return m_stopping || !m_queue.empty(); });
                if (m_queue.empty()) return;
                work = std::move(m_queue.front());
                m_queue.pop_front();
            }
            work();
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_wakeUp;
    std::deque<std::function<void()>> m_queue;  // guarded by m_mutex
    std::shared_ptr<FakeTaker> m_taker;         // guarded by m_mutex
    bool m_stopping = false;                    // guarded by m_mutex
    std::thread m_thread;
};

}  // namespace shardscope::test

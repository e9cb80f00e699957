// What a capture makes of the work of fake streams: branches that run side by side at each launch.
//
// The branch of the stream that was captured runs where the graph is launched, every other one on a
// thread of the graph's own: as in CUDA, nothing ties it to what its stream does outside.
#pragma once

#include "tests/engine/torch/fake_event.h"
#include "tests/engine/torch/fake_stream.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace shardscope::test {

/// How far one launch is.
class FakeReplay {
public:
    void signal(std::size_t number) {
        {
            const std::lock_guard lock(m_mutex);
            m_signals.insert(number);
        }
        m_changed.notify_all();
    }
    void await(std::size_t number) {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_signals.contains(number); });
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::set<std::size_t> m_signals;  // guarded by m_mutex
};

using FakeBranch = std::vector<std::function<void(FakeReplay&)>>;

class FakeGraph {
public:
    FakeGraph(FakeBranch origin, std::vector<FakeBranch> others);
    /// All of it; launches take turns.
    void run();

private:
    const FakeBranch m_origin;
    const std::vector<FakeBranch> m_others;
    std::mutex m_running;
    std::list<FakeStream> m_streams;  ///< one each of the others
};

/// Of one thread; other threads queue on its streams at most.
class FakeCapture final : public FakeTaker, public std::enable_shared_from_this<FakeCapture> {
public:
    explicit FakeCapture(FakeStream& origin);

    /// Takes `origin` in.
    void begin();
    void take(FakeStream& from, std::function<void()> work) override;
    /// Of an event; for FakeEvent::Captured.
    std::size_t signal(FakeStream& from);
    /// Takes the stream in where it is not yet.
    void wait(FakeStream& stream, std::size_t signal);
    /// Nothing that follows makes it valid again.
    void invalidate();
    [[nodiscard]] bool valid() const;
    /// Whether all that was taken comes before the end of the first stream.
    [[nodiscard]] bool joined() const;
    std::shared_ptr<FakeGraph> graph();
    /// Streams run their work again.
    void end();

    [[nodiscard]] std::uint64_t id() const { return m_id; }
    [[nodiscard]] bool isOfThisThread() const { return m_thread == std::this_thread::get_id(); }

private:
    /// Work of each stream that comes before a place.
    using Known = std::map<FakeStream*, std::size_t>;
    struct Part {
        FakeBranch branch;
        Known known;
    };

    FakeStream* const m_origin;
    const std::uint64_t m_id;
    const std::thread::id m_thread = std::this_thread::get_id();
    mutable std::mutex m_mutex;
    bool m_valid = true;  // guarded by m_mutex, as the rest
    std::map<FakeStream*, Part> m_parts;
    std::vector<Known> m_signals;
};

}  // namespace shardscope::test

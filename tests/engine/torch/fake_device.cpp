#include "tests/engine/torch/fake_device.h"

#include "engine/control/observer.h"
#include "storage/model/host_clock.h"

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::test {
namespace {

/// As cudaEvent_t: whoever waits, waits for the last record before the call.
class Event {
public:
    std::uint64_t request() {
        const std::lock_guard lock(m_mutex);
        return ++m_requested;
    }
    void reach(std::uint64_t number) {
        {
            const std::lock_guard lock(m_mutex);
            m_reached = number;
            m_timeNs = hostNow();
        }
        m_changed.notify_all();
    }
    std::uint64_t requested() {
        const std::lock_guard lock(m_mutex);
        return m_requested;
    }
    void await(std::uint64_t number) {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_reached >= number; });
    }
    bool reached() {
        const std::lock_guard lock(m_mutex);
        return m_reached >= m_requested;
    }
    std::int64_t timeNs() {
        const std::lock_guard lock(m_mutex);
        return m_timeNs;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::uint64_t m_requested = 0, m_reached = 0;
    std::int64_t m_timeNs = 0;
};

class Stream {
public:
    Stream() : m_thread([this] { run(); }) {}
    ~Stream() {
        {
            const std::lock_guard lock(m_mutex);
            m_stopping = true;
        }
        m_wakeUp.notify_one();
        m_thread.join();
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void queue(std::function<void()> work) {
        {
            const std::lock_guard lock(m_mutex);
            m_queue.push_back(std::move(work));
        }
        m_wakeUp.notify_one();
    }

private:
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
    std::deque<std::function<void()>> m_queue;
    bool m_stopping = false;
    std::thread m_thread;
};

/// Events are kept until the device goes: a stream may still touch a destroyed one.
using EventHandle = std::shared_ptr<Event>;

Event& at(control::DeviceEvent event) {
    return **static_cast<EventHandle*>(event.handle);
}

// The device that the calling thread chose last.
thread_local const FakeCalls* t_chosen = nullptr;

}  // namespace

struct FakeCalls::State {
    std::function<control::DeviceMemory()> memory;
    mutable std::mutex mutex;
    std::list<EventHandle> events;
    int live = 0;
    bool awaited = true;
    std::optional<control::DeviceError> fault;
    std::list<Stream> streams;  // last: their work uses the events
};

FakeCalls::FakeCalls(std::function<control::DeviceMemory()> memory)
    : m_state(std::make_unique<State>()) {
    m_state->memory = std::move(memory);
}
FakeCalls::~FakeCalls() = default;

void FakeCalls::use() {
    t_chosen = this;
}

void FakeCalls::requireChosen() const {
    if (t_chosen == this) return;
    throw control::DeviceError(control::DeviceFault::kOther,
                               "a thread whose device was never set called the runtime: it has "
                               "made a context on device 0");
}

control::DeviceStream FakeCalls::currentStream() {
    requireChosen();
    return {};
}

control::DeviceStream FakeCalls::createStream(bool) {
    requireChosen();
    const std::lock_guard lock(m_state->mutex);
    return {&m_state->streams.emplace_back()};
}

control::DeviceEvent FakeCalls::createEvent() {
    requireChosen();
    const std::lock_guard lock(m_state->mutex);
    ++m_state->live;
    return {&m_state->events.emplace_back(std::make_shared<Event>())};
}

void FakeCalls::destroy(control::DeviceEvent) {
    requireChosen();
    const std::lock_guard lock(m_state->mutex);
    --m_state->live;
}

void FakeCalls::record(control::DeviceEvent event, control::DeviceStream stream) {
    requireChosen();
    const std::uint64_t number = at(event).request();
    if (stream.handle == nullptr) {
        {
            const std::lock_guard lock(m_state->mutex);
            m_state->awaited = false;
        }
        at(event).reach(number);
    } else {
        FakeDevice::queue(stream.handle, [event, number] { at(event).reach(number); });
    }
}

void FakeCalls::wait(control::DeviceStream stream, control::DeviceEvent event) {
    requireChosen();
    const std::uint64_t number = at(event).requested();
    if (stream.handle == nullptr) {
        at(event).await(number);
    } else {
        FakeDevice::queue(stream.handle, [event, number] { at(event).await(number); });
    }
}

void FakeCalls::requireSound() const {
    requireChosen();
    const std::lock_guard lock(m_state->mutex);
    if (m_state->fault) throw control::DeviceError(*m_state->fault);
}

bool FakeCalls::reached(control::DeviceEvent event) {
    requireSound();
    return at(event).reached();
}

void FakeCalls::synchronize(control::DeviceEvent event) {
    requireSound();
    at(event).await(at(event).requested());
}

void FakeCalls::synchronizeAll() {
    requireSound();
    std::vector<std::shared_ptr<Event>> ends;
    {
        const std::lock_guard lock(m_state->mutex);
        for (Stream& stream : m_state->streams) {
            const auto end = ends.emplace_back(std::make_shared<Event>());
            stream.queue([end, number = end->request()] { end->reach(number); });
        }
    }
    for (const auto& end : ends) end->await(end->requested());
    const std::lock_guard lock(m_state->mutex);
    m_state->awaited = true;
}

std::int64_t FakeCalls::elapsedNs(control::DeviceEvent from, control::DeviceEvent to) {
    requireChosen();
    return at(to).timeNs() - at(from).timeNs();
}

control::DeviceMemory FakeCalls::memory() {
    requireChosen();
    return m_state->memory ? m_state->memory() : control::DeviceMemory();
}

void FakeCalls::breakDown(control::DeviceFault fault, const std::string& what) {
    const std::lock_guard lock(m_state->mutex);
    m_state->fault.emplace(fault, what);
}

bool FakeCalls::awaited() const {
    const std::lock_guard lock(m_state->mutex);
    return m_state->awaited;
}

int FakeCalls::liveEvents() const {
    const std::lock_guard lock(m_state->mutex);
    return m_state->live;
}

void FakeDevice::queue(void* stream, std::function<void()> work) {
    static_cast<Stream*>(stream)->queue(std::move(work));
}

bool FakeDevice::chosenHere() {
    return t_chosen != nullptr;
}

}  // namespace shardscope::test

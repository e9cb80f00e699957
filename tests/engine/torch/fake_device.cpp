#include "tests/engine/torch/fake_device.h"

#include "engine/control/observer.h"
#include "storage/model/host_clock.h"

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

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

}  // namespace

struct FakeDevice::State {
    mutable std::mutex mutex;
    std::list<EventHandle> events;
    int live = 0;
    std::optional<control::DeviceError> fault;
    std::list<Stream> streams;  // last: their work uses the events
};

FakeDevice::FakeDevice() : m_state(std::make_unique<State>()) {}
FakeDevice::~FakeDevice() = default;

control::DeviceStream FakeDevice::createStream(bool) {
    const std::lock_guard lock(m_state->mutex);
    return {&m_state->streams.emplace_back()};
}

control::DeviceEvent FakeDevice::createEvent() {
    const std::lock_guard lock(m_state->mutex);
    ++m_state->live;
    return {&m_state->events.emplace_back(std::make_shared<Event>())};
}

void FakeDevice::destroy(control::DeviceEvent) {
    const std::lock_guard lock(m_state->mutex);
    --m_state->live;
}

void FakeDevice::queue(void* stream, std::function<void()> work) {
    static_cast<Stream*>(stream)->queue(std::move(work));
}

void FakeDevice::record(control::DeviceEvent event, control::DeviceStream stream) {
    const std::uint64_t number = at(event).request();
    if (stream.handle == nullptr) {
        at(event).reach(number);
    } else {
        queue(stream.handle, [event, number] { at(event).reach(number); });
    }
}

void FakeDevice::wait(control::DeviceStream stream, control::DeviceEvent event) {
    const std::uint64_t number = at(event).requested();
    if (stream.handle == nullptr) {
        at(event).await(number);
    } else {
        queue(stream.handle, [event, number] { at(event).await(number); });
    }
}

void FakeDevice::throwWhenBroken() const {
    const std::lock_guard lock(m_state->mutex);
    if (m_state->fault) throw control::DeviceError(*m_state->fault);
}

bool FakeDevice::reached(control::DeviceEvent event) {
    throwWhenBroken();
    return at(event).reached();
}

void FakeDevice::synchronize(control::DeviceEvent event) {
    throwWhenBroken();
    at(event).await(at(event).requested());
}

std::int64_t FakeDevice::elapsedNs(control::DeviceEvent from, control::DeviceEvent to) {
    return at(to).timeNs() - at(from).timeNs();
}

void FakeDevice::breakDown(control::DeviceFault fault, const std::string& what) {
    const std::lock_guard lock(m_state->mutex);
    m_state->fault.emplace(fault, what);
}

int FakeDevice::liveEvents() const {
    const std::lock_guard lock(m_state->mutex);
    return m_state->live;
}

}  // namespace shardscope::test

#include "tests/engine/torch/fake_device.h"

#include "tests/engine/torch/fake_event.h"
#include "tests/engine/torch/fake_graph.h"
#include "tests/engine/torch/fake_stream.h"

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

namespace shardscope::test {
namespace {

/// Events are kept until the device goes: a stream may still touch a destroyed one.
using EventHandle = std::shared_ptr<FakeEvent>;

FakeEvent& at(control::DeviceEvent event) {
    return **static_cast<EventHandle*>(event.handle);
}

FakeStream& at(control::DeviceStream stream) {
    return *static_cast<FakeStream*>(stream.handle);
}

// The device that the calling thread chose last, and where its operators go there.
thread_local const FakeCalls* t_chosen = nullptr;
struct Current {
    std::uint64_t device = 0;  ///< by number: addresses come again
    control::DeviceStream stream;
};
thread_local Current t_current;

std::uint64_t nextNumber() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

/// CUDA's names and numbers, for who reads a failure.
[[noreturn]] void refuse(const std::string& what) {
    throw control::DeviceError(control::DeviceFault::kOther, what);
}

class Launchable final : public control::DeviceGraph {
public:
    Launchable(FakeCalls& device, std::shared_ptr<FakeGraph> graph)
        : m_device(device), m_graph(std::move(graph)) {}
    void launch() override {
        const control::DeviceStream stream = m_device.currentStream();
        if (stream.handle == nullptr) return m_graph->run();
        if (at(stream).diverted()) refuse("a graph was launched into a capture");
        FakeDevice::queue(stream.handle, [graph = m_graph] { graph->run(); });
    }

private:
    FakeCalls& m_device;
    const std::shared_ptr<FakeGraph> m_graph;
};

}  // namespace

struct FakeCalls::State {
    const std::uint64_t number = nextNumber();
    std::function<control::DeviceMemory()> memory;
    mutable std::mutex mutex;
    std::list<EventHandle> events;
    int live = 0;
    bool awaited = true;
    std::optional<control::DeviceError> fault;
    std::shared_ptr<FakeCapture> capture;  ///< null: none
    std::list<FakeStream> streams;         // last: their work uses the events
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
    return t_current.device == m_state->number ? t_current.stream : control::DeviceStream{};
}

void FakeCalls::computeOn(control::DeviceStream stream) {
    synchronizeAll();
    t_current = {m_state->number, stream};
}

std::shared_ptr<FakeCapture> FakeCalls::capture() const {
    const std::lock_guard lock(m_state->mutex);
    return m_state->capture;
}

/// What is forbidden while something is captured, by this thread or by any.
void FakeCalls::requireNoCapture(bool byThisThread, const char* call) const {
    const auto capture = this->capture();
    if (!capture || (byThisThread && !capture->isOfThisThread())) return;
    capture->invalidate();
    refuse(std::string(call) + ": operation not permitted when stream is capturing (900)");
}

void FakeCalls::requireOutside(control::DeviceEvent event, const char* call) const {
    const std::uint64_t in = at(event).captured().capture;
    if (in == 0) return;
    const auto capture = this->capture();
    if (capture && capture->id() == in) capture->invalidate();
    refuse(std::string(call) +
           ": operation not permitted on an event last recorded in a capturing stream (907)");
}

/// Of a stream that takes part in a capture; null: it does not.
std::shared_ptr<FakeCapture> FakeCalls::captureOf(control::DeviceStream stream) const {
    if (stream.handle == nullptr || !at(stream).diverted()) return nullptr;
    auto capture = this->capture();
    if (!capture->valid()) refuse("operation failed due to a previous error during capture (901)");
    return capture;
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
    return {&m_state->events.emplace_back(std::make_shared<FakeEvent>())};
}

void FakeCalls::destroy(control::DeviceEvent) {
    requireChosen();
    const std::lock_guard lock(m_state->mutex);
    --m_state->live;
}

void FakeCalls::record(control::DeviceEvent event, control::DeviceStream stream) {
    requireChosen();
    if (const auto capture = captureOf(stream))
        return at(event).capture({capture->id(), capture->signal(at(stream))});
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

void FakeCalls::recordInGraph(control::DeviceEvent event, control::DeviceStream stream) {
    requireChosen();
    if (!captureOf(stream)) return record(event, stream);
    FakeDevice::queue(stream.handle, [event] { at(event).reach(at(event).request()); });
}

void FakeCalls::wait(control::DeviceStream stream, control::DeviceEvent event) {
    requireChosen();
    const FakeEvent::Captured captured = at(event).captured();
    const auto capture = this->capture();
    if (captured.capture != 0) {
        if (!capture || capture->id() != captured.capture || stream.handle == nullptr)
            requireOutside(event, "waiting for an event");
        return capture->wait(at(stream), captured.signal);
    }
    if (captureOf(stream)) {
        capture->invalidate();
        refuse("dependency created on uncaptured work in another stream (905)");
    }
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
    requireNoCapture(true, "asking for an event");
    requireOutside(event, "asking for an event");
    return at(event).reached();
}

void FakeCalls::synchronize(control::DeviceEvent event) {
    requireSound();
    requireNoCapture(true, "waiting for an event");
    requireOutside(event, "waiting for an event");
    at(event).await(at(event).requested());
}

void FakeCalls::synchronizeAll() {
    requireSound();
    requireNoCapture(false, "waiting for the device");
    std::vector<std::shared_ptr<FakeEvent>> ends;
    {
        const std::lock_guard lock(m_state->mutex);
        for (FakeStream& stream : m_state->streams) {
            const auto end = ends.emplace_back(std::make_shared<FakeEvent>());
            stream.queue([end, number = end->request()] { end->reach(number); });
        }
    }
    for (const auto& end : ends) end->await(end->requested());
    const std::lock_guard lock(m_state->mutex);
    m_state->awaited = true;
}

std::int64_t FakeCalls::elapsedNs(control::DeviceEvent from, control::DeviceEvent to) {
    requireChosen();
    requireNoCapture(true, "the time between two events");
    for (const control::DeviceEvent event : {from, to})
        requireOutside(event, "the time between two events");
    const auto begin = at(from).timeNs(), end = at(to).timeNs();
    if (!begin || !end) refuse("the time between two events: one was not recorded yet (600)");
    return *end - *begin;
}

control::DeviceMemory FakeCalls::memory() {
    requireChosen();
    return m_state->memory ? m_state->memory() : control::DeviceMemory();
}

void FakeCalls::releaseCachedMemory() {
    requireChosen();
    requireNoCapture(true, "freeing memory");
}

void FakeCalls::beginCapture() {
    requireChosen();
    const control::DeviceStream stream = currentStream();
    if (stream.handle == nullptr) refuse("the default stream cannot be captured (900)");
    auto capture = std::make_shared<FakeCapture>(at(stream));
    {
        const std::lock_guard lock(m_state->mutex);
        if (m_state->capture) refuse("something is being captured already (401)");
        m_state->capture = capture;
    }
    capture->begin();
}

std::unique_ptr<control::DeviceGraph> FakeCalls::endCapture() {
    requireChosen();
    const auto capture = this->capture();
    if (!capture) refuse("nothing is being captured (401)");
    if (!capture->isOfThisThread()) refuse("a capture must end on the thread it began on (908)");
    if (!capture->valid()) refuse("operation failed due to a previous error during capture (901)");
    if (!capture->joined()) refuse("capturing stream has unjoined work (904)");
    auto graph = std::make_unique<Launchable>(*this, capture->graph());
    abandonCapture();
    return graph;
}

void FakeCalls::abandonCapture() noexcept {
    const auto capture = this->capture();
    if (!capture) return;
    capture->end();
    const std::lock_guard lock(m_state->mutex);
    m_state->capture = nullptr;
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
    static_cast<FakeStream*>(stream)->queue(std::move(work));
}

bool FakeDevice::chosenHere() {
    return t_chosen != nullptr;
}

}  // namespace shardscope::test

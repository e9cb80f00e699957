#include "profiler/inject/stacks/python_stacks.h"

#include "profiler/capture/thread_own.h"

#include <string>
#include <unordered_map>

namespace shardscope::inject {
namespace {

/// Of a thread that gave up the lock. Without destructor: operators run while a thread ends.
struct Released {
    std::uint64_t generation;  ///< of the session whose number it is
    PythonFrames::Stack stack;
};
thread_local constinit Released t_released{0, PythonFrames::kNone};

}  // namespace

/// Arguments with stacks that the calling thread has seen.
struct PythonStacks::Known {
    std::uint64_t generation = 0;
    std::unordered_map<std::uint64_t, StringId> ids;
};

void PythonStacks::start(const PythonApi& api) {
    if (m_own != nullptr) return;
    m_api = api;
    m_own = std::make_unique<PythonFrames>(api);
    m_frames.store(m_own.get(), std::memory_order_release);
}

void PythonStacks::released(bool wanted) {
    PythonFrames* frames = m_frames.load(std::memory_order_acquire);
    if (frames == nullptr) return;
    const bool here = wanted && m_api.isLockHeld();
    t_released = {m_session.generation(), here ? frames->here() : PythonFrames::kNone};
}

void PythonStacks::restored() {
    t_released.stack = PythonFrames::kNone;
}

PythonFrames::Stack PythonStacks::here() const {
    if (m_api.isLockHeld()) return m_own->here();
    return t_released.generation == m_session.generation() ? t_released.stack : PythonFrames::kNone;
}

StringId PythonStacks::addTo(StringId arguments) {
    if (!areOn()) return arguments;
    const PythonFrames::Stack stack = here();
    Known* known = stack != PythonFrames::kNone ? capture::threadOwn<Known>() : nullptr;
    if (known == nullptr) return arguments;
    if (known->generation != m_session.generation()) {
        known->ids.clear();
        known->generation = m_session.generation();
    }
    const std::uint64_t key = std::uint64_t{arguments.value} << 32 | stack;
    const auto found = known->ids.find(key);
    if (found != known->ids.end()) return found->second;
    if (m_bytes.load(std::memory_order_relaxed) >= kMostBytes) return arguments;
    return known->ids[key] = made(arguments, stack);
}

StringId PythonStacks::made(StringId arguments, PythonFrames::Stack stack) {
    const std::string before = m_session.text(arguments);
    std::string text = R"({"frames":)" + m_own->text(stack) + "}";
    if (before.ends_with('}')) {
        text.front() = ',';
        text.insert(0, before, 0, before.size() - 1);
    }
    m_bytes.fetch_add(text.size(), std::memory_order_relaxed);
    return m_session.intern(text);
}

bool PythonStacks::isFull() const {
    return areOn() && (m_bytes.load(std::memory_order_relaxed) >= kMostBytes || m_own->isFull());
}

}  // namespace shardscope::inject

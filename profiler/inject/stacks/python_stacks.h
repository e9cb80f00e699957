// Python stacks of operators, as part of their arguments.
//
// PyTorch gives up Python's lock (the GIL) before it runs an operator, and without it no thread may
// look at frames. So the stack is read where the lock is given up, on the thread that gives it up
// (lock_calls.h): its frames do not change until it has the lock again. Operators that are begun
// with the lock read it themselves. The lock is never taken.
#pragma once

#include "profiler/capture/capture_session.h"
#include "profiler/inject/stacks/python_frames.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace shardscope::inject {

class PythonStacks {
public:
    /// Bytes of arguments with stacks, of a process; operators beyond have none.
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

    explicit PythonStacks(capture::CaptureSession& session) : m_session(session) {}

    /// With Python's lock, once.
    void start(const PythonApi& api);
    [[nodiscard]] bool areOn() const { return m_frames.load(std::memory_order_acquire) != nullptr; }
    /// The calling thread, which holds Python's lock, gives it up; `wanted`: operators are
    /// recorded.
    void released(bool wanted);
    /// It has it again. Any thread, also without a session.
    static void restored();

    /// `arguments` of an operator that the calling thread begins, with where it is in Python.
    [[nodiscard]] StringId addTo(StringId arguments);
    /// A limit is reached: some operators have no stack.
    [[nodiscard]] bool isFull() const;

private:
    struct Known;
    [[nodiscard]] PythonFrames::Stack here() const;
    [[nodiscard]] StringId made(StringId arguments, PythonFrames::Stack stack);

    capture::CaptureSession& m_session;
    PythonApi m_api;
    std::unique_ptr<PythonFrames> m_own;
    std::atomic<PythonFrames*> m_frames{nullptr};
    std::atomic<std::size_t> m_bytes{0};
};

}  // namespace shardscope::inject

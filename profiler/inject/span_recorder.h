// Operators and ranges of each thread: from begin and end to a span with name, depth and shapes.
//
// The calling thread's own: no locks, but for a name or shapes that it sees for the first time.
#pragma once

#include "profiler/capture/capture_session.h"
#include "profiler/inject/inject_api.h"
#include "profiler/inject/known_texts.h"
#include "profiler/inject/stacks/python_stacks.h"
#include "profiler/inject/step_marks.h"

#include <regex.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace shardscope::inject {

class SpanRecorder {
public:
    /// Different names and shapes of a process; what comes beyond has none.
    static constexpr std::size_t kMostTexts = 200'000;

    /// `stepRange`: an extended regular expression; ranges that it matches are steps. Empty: none.
    SpanRecorder(capture::CaptureSession& session, StepMarks& marks, const std::string& stepRange);
    ~SpanRecorder();
    SpanRecorder(const SpanRecorder&) = delete;
    SpanRecorder& operator=(const SpanRecorder&) = delete;

    /// Deeper ones of a thread are not recorded.
    static constexpr std::size_t kDeepest = 255;

    void begin(const ShardscopeSpan& span, std::int64_t nowNs);
    /// See ShardscopeApi::span_end.
    void end(const void* key, std::int64_t nowNs);
    /// Owned by the calling thread's outermost operator, ranges left out, if there is one.
    void push(MemoryEvent event);
    /// Of operators that no other one is around, while they are asked for.
    [[nodiscard]] PythonStacks& stacks() { return m_stacks; }

    /// Of a span that began before anything was recorded, so that begins and ends match.
    static void beginUnrecorded(const void* key);
    static void endUnrecorded(const void* key);

private:
    struct Thread;
    struct OpenSpan;
    /// Null in destructors that run after the thread's own.
    static Thread* thread();
    [[nodiscard]] KnownName nameOf(Thread& thread, std::string_view name);
    [[nodiscard]] NameUse useOf(std::string_view name) const;
    [[nodiscard]] StringId argumentsOf(Thread& thread, const ShardscopeSpan& span);
    [[nodiscard]] StringId intern(const std::string& text);
    void renew(Thread& thread);
    void record(Thread& thread, OpenSpan& open, const ShardscopeSpan& span);
    void end(Thread& thread, const OpenSpan& open, std::int64_t nowNs);

    capture::CaptureSession& m_session;
    StepMarks& m_marks;
    PythonStacks m_stacks;
    std::unique_ptr<regex_t, void (*)(regex_t*)> m_stepRange;
    std::atomic<std::size_t> m_texts{0};
    StringId m_tooMany;
};

}  // namespace shardscope::inject

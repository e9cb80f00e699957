// One recorded process: what it captures, its connection to the recorder, the thread that sends.
//
// Made by shardscope_start() and never destroyed: threads of the program may call until its very
// end. After fork() the child has none, and its copy is not touched again.
#pragma once

#include "profiler/capture/capture_session.h"
#include "profiler/capture/program_link.h"
#include "profiler/inject/collective_table.h"
#include "profiler/inject/memory_book.h"
#include "profiler/inject/recorder_link.h"
#include "profiler/inject/span_recorder.h"
#include "profiler/inject/step_marks.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace shardscope::inject {

/// From the variables that the recorder sets.
struct ProcessOptions {
    std::string socket;
    CaptureWish capture;
    std::int64_t originNs = 0;
    std::string stepRange;
};
Result<ProcessOptions> optionsFromEnvironment();

class ProcessSession final : public capture::EventSink {
public:
    static Result<ProcessSession*> start(const ProcessOptions& options);

    SpanRecorder& spans() { return m_spans; }
    StepMarks& marks() { return m_marks; }
    [[nodiscard]] CaptureLevel level() const { return m_marks.level(); }
    CollectiveTable& collectives() { return m_collectives; }
    MemoryBook& memory() { return m_memory; }
    capture::CaptureSession& capture() { return m_capture; }

    void post(const capture::LinkMessage& message) { m_link.post(message); }
    void allocated(const void* block, std::size_t bytes, MemoryAction action);
    void metric(const char* name, double value);
    void log(const char* level, std::string text);
    /// Everything recorded so far is sent, within `milliseconds`.
    void flush(int milliseconds);
    /// exit() was called. Ends our thread.
    void finish(int status);
    /// The recorder is gone: nothing is recorded any more.
    [[nodiscard]] bool isLost() const { return m_link.isLost(); }

    /// See RecorderLink.
    void closeInChild() const { m_link.closeInChild(); }

    // EventSink, on the drain thread.
    void strings(StringId first, const std::vector<std::string>& texts) override;
    void lane(const LaneFacts& lane) override;
    void chunk(const columns::ChunkBytes& bytes) override;

private:
    ProcessSession(const ProcessOptions& options, int descriptor);
    void startThread();
    void run();
    void sample(std::int64_t nowNs);
    void reportProgress(std::int64_t nowNs);
    void take(const capture::LinkMessage& order);
    [[nodiscard]] std::uint64_t lost() const { return m_capture.dropped() + m_lostEvents; }

    const ProcessOptions m_options;
    RecorderLink m_link;
    MemoryBook m_memory;
    std::int64_t m_settledNs = 0;  ///< memory events before it have all been handed over
    capture::CaptureSession m_capture;
    StepMarks m_marks;
    SpanRecorder m_spans;
    CollectiveTable m_collectives;
    std::atomic<std::uint64_t> m_lostEvents{0};  ///< of chunks that found no room
    std::atomic<bool> m_ending{false}, m_finished{false};
    std::int64_t m_nextSampleNs = 0;
    std::int64_t m_nextProgressNs = 0;
    bool m_saidFull = false;

    std::mutex m_mutex;
    std::condition_variable m_flushed;
    std::uint64_t m_flushAsked = 0;  // guarded by m_mutex
    std::uint64_t m_flushDone = 0;   // guarded by m_mutex
};

}  // namespace shardscope::inject

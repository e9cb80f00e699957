#include "profiler/collectors/cupti/cupti_collector.h"

#include "profiler/collectors/cupti/annotations.h"
#include "profiler/collectors/cupti/correlator.h"
#include "profiler/collectors/cupti/cupti_session.h"
#include "profiler/collectors/cupti/record_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace shardscope::collectors {
namespace {

using capture::DeviceLevel;
using cupti::Session;

/// Kernels without a single launch record: from here on it is no coincidence.
constexpr std::uint64_t kManyKernels = 256;
/// Until nothing waits for its other half any more; then being attached costs no flushes.
constexpr int kFlushesAfterIdle = 4;

class CuptiCollector final : public DeviceCollector {
public:
    CuptiCollector(CuptiApi& api, capture::DeviceSink& sink, const CuptiOptions& options);
    ~CuptiCollector() override;
    CuptiCollector(const CuptiCollector&) = delete;
    CuptiCollector& operator=(const CuptiCollector&) = delete;

    [[nodiscard]] std::optional<Diagnostic> start(DeviceLevel level);

    void setLevel(DeviceLevel level) override { m_session.setLevel(level); }
    [[nodiscard]] bool wantsIdle() const override;
    void deviceIdle() override;
    bool flush(bool everything, std::chrono::milliseconds atMost) override;
    [[nodiscard]] capture::DeviceCounts counts() const override;
    [[nodiscard]] const capture::DeviceAnnotator& annotator() const override {
        return cupti::annotator();
    }

private:
    // Decoder thread.
    void run();
    bool waitForWork();
    void serveFlushes();
    void decode();
    void flushNow(bool everything);
    void publishCounts();
    void sampleClocks();
    void report(Severity severity, const char* code, std::string message, std::string remedy,
                std::int64_t count = 1);
    void reportLimits();

    CuptiApi& m_api;
    capture::DeviceSink& m_sink;
    const CuptiOptions m_options;
    Session m_session;

    std::chrono::steady_clock::time_point m_nextIdle;  ///< step thread

    // Decoder thread.
    cupti::KernelNames m_names;
    cupti::RecordReader m_reader{m_api, m_names};
    cupti::RecordClock m_clock;
    cupti::Correlator m_correlator;
    std::chrono::steady_clock::time_point m_lastFlush;
    int m_flushesToCome = 0;
    std::uint64_t m_dropped = 0;
    bool m_reportedDrops = false;
    bool m_reportedBroken = false;
    bool m_reportedNoLaunches = false;

    // Never held while CUPTI is called: it calls back with locks of its own.
    mutable std::mutex m_mutex;
    std::condition_variable m_wake;
    std::condition_variable m_flushed;
    capture::DeviceCounts m_counts;    // guarded by m_mutex
    std::uint64_t m_flushesAsked = 0;  // guarded by m_mutex
    std::uint64_t m_flushesDone = 0;   // guarded by m_mutex
    bool m_everything = false;         // guarded by m_mutex
    bool m_stop = false;               // guarded by m_mutex
    std::thread m_decoder;
};

CuptiCollector::CuptiCollector(CuptiApi& api, capture::DeviceSink& sink,
                               const CuptiOptions& options)
    : m_api(api),
      m_sink(sink),
      m_options(options),
      m_session(api, {options.graphNodes, options.buffers, options.bufferBytes}),
      m_clock(options.readClocks()),
      m_correlator(sink, m_clock, m_names, m_session.graphNodes()) {}

CuptiCollector::~CuptiCollector() {
    if (!m_decoder.joinable()) return;
    {
        const std::lock_guard lock(m_mutex);
        m_stop = true;
    }
    m_wake.notify_one();
    m_decoder.join();
}

std::optional<Diagnostic> CuptiCollector::start(DeviceLevel level) {
    if (auto failed = m_session.start(level)) return failed;
    m_lastFlush = std::chrono::steady_clock::now();
    m_decoder = std::thread([this] { run(); });
    return std::nullopt;
}

bool CuptiCollector::wantsIdle() const {
    return m_session.level() > DeviceLevel::kIdle && std::chrono::steady_clock::now() >= m_nextIdle;
}

/// On the thread that knows that the device is idle, while it is; the decoder finds the buffers.
void CuptiCollector::deviceIdle() {
    if (!wantsIdle()) return;
    m_nextIdle = std::chrono::steady_clock::now() + m_options.idlePeriod;
    m_api.flush(false);
}

bool CuptiCollector::flush(bool everything, std::chrono::milliseconds atMost) {
    std::unique_lock lock(m_mutex);
    const std::uint64_t wanted = ++m_flushesAsked;
    m_everything = m_everything || everything;
    m_wake.notify_one();
    return m_flushed.wait_for(lock, atMost, [&] { return m_flushesDone >= wanted; });
}

capture::DeviceCounts CuptiCollector::counts() const {
    const std::lock_guard lock(m_mutex);
    return m_counts;
}

/// False: to stop.
bool CuptiCollector::waitForWork() {
    std::unique_lock lock(m_mutex);
    m_wake.wait_for(lock, m_options.pollPeriod,
                    [&] { return m_stop || m_flushesAsked > m_flushesDone; });
    return !m_stop;
}

void CuptiCollector::run() {
    while (waitForWork()) {
        decode();
        serveFlushes();
    }
    flushNow(true);
}

void CuptiCollector::serveFlushes() {
    std::uint64_t asked = 0;
    bool wanted = false;
    bool everything = false;
    {
        const std::lock_guard lock(m_mutex);
        asked = m_flushesAsked;
        wanted = asked > m_flushesDone;
        everything = std::exchange(m_everything, false);
    }
    const auto now = std::chrono::steady_clock::now();
    const bool due = now - m_lastFlush >= m_options.flushPeriod;
    if (m_session.level() > DeviceLevel::kIdle) m_flushesToCome = kFlushesAfterIdle;
    if (wanted || (due && m_flushesToCome > 0)) {
        m_flushesToCome = std::max(0, m_flushesToCome - 1);
        flushNow(everything);
        m_lastFlush = now;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_flushesDone = asked;
    }
    m_flushed.notify_all();
}

void CuptiCollector::decode() {
    std::vector<cupti::Record> records;
    const auto full = m_session.pool().takeFull();
    if (full.empty()) return;
    sampleClocks();
    for (const cupti::BufferPool::Full& buffer : full) {
        m_reader.read(buffer.data, buffer.bytes, records);
        m_session.pool().giveBack(buffer);
        m_correlator.add(records);
        records.clear();
    }
}

void CuptiCollector::flushNow(bool everything) {
    sampleClocks();
    m_api.flush(everything);
    decode();
    if (everything) {
        m_correlator.finish();
    } else {
        m_correlator.settle(m_session.level() >= DeviceLevel::kLaunches);
    }
    m_dropped += m_api.takeDropped();
    publishCounts();
    reportLimits();
}

void CuptiCollector::publishCounts() {
    capture::DeviceCounts counts = m_correlator.counts();
    counts.records = m_reader.counts().records;
    counts.unknown = m_reader.counts().unknown;
    counts.dropped = m_dropped;
    counts.captured = m_session.capturedLaunches();
    const std::lock_guard lock(m_mutex);
    m_counts = counts;
}

void CuptiCollector::report(Severity severity, const char* code, std::string message,
                            std::string remedy, std::int64_t count) {
    Diagnostic diagnostic;
    diagnostic.severity = severity;
    diagnostic.code = code;
    diagnostic.message = std::move(message);
    diagnostic.remedy = std::move(remedy);
    diagnostic.time = m_sink.at(m_options.readClocks().monotonic);
    diagnostic.count = count;
    m_sink.diagnostic(diagnostic);
}

void CuptiCollector::sampleClocks() {
    if (!m_clock.add(m_options.readClocks())) return;
    report(Severity::kWarning, "clock-stepped",
           fmt::format("the host's clock was set by {:.3f} ms while recording; kernels within a "
                       "second of it may be misplaced (its rate differs from the oscillator's by "
                       "{:.1f} ppm)",
                       static_cast<double>(m_clock.lastStep()) * 1e-6, m_clock.driftPpm()),
           "Let NTP or PTP slew the clock instead of stepping it while a run is recorded.");
}

void CuptiCollector::reportLimits() {
    if (const auto refused = m_session.takeRefused(); !refused.empty()) {
        report(Severity::kWarning, "cupti-partial",
               fmt::format("CUPTI refused to trace {}: they are missing from the recording",
                           fmt::join(refused, ", ")),
               "Check that driver and CUPTI are of CUDA 13.0 Update 1 or newer.",
               static_cast<std::int64_t>(refused.size()));
    }
    if (m_dropped > 0 && !std::exchange(m_reportedDrops, true)) {
        report(Severity::kWarning, "cupti-dropped",
               fmt::format("CUPTI dropped {} records so far ({} requests found no free buffer): "
                           "kernels are missing from the recording",
                           m_dropped, m_session.pool().refused()),
               "Record fewer steps in detail, or trace kernels without launches.",
               static_cast<std::int64_t>(m_dropped));
    }
    if (m_reader.counts().broken > 0 && !std::exchange(m_reportedBroken, true)) {
        report(Severity::kWarning, "cupti-unreadable",
               "a buffer of CUPTI holds a record it cannot read itself: what follows in that "
               "buffer is missing from the recording",
               "Check that libcupti.so.13 and the driver belong together.");
    }
    if (m_session.level() >= DeviceLevel::kLaunches && m_correlator.counts().launches == 0 &&
        m_correlator.counts().kernels >= kManyKernels &&
        !std::exchange(m_reportedNoLaunches, true)) {
        report(Severity::kWarning, "cupti-no-launches",
               fmt::format("{} kernels and not one launch call were recorded: which "
                           "operator, layer and step a kernel belongs to is unknown",
                           m_correlator.counts().kernels),
               "Check that libcupti.so.13 and the driver belong together.");
    }
}

}  // namespace

DeviceCollectorStart startCuptiCollector(CuptiApi& api, DeviceLevel level,
                                         capture::DeviceSink& sink, const CuptiOptions& options) {
    if (level == DeviceLevel::kNever) return {};
    auto collector = std::make_unique<CuptiCollector>(api, sink, options);
    if (auto failed = collector->start(level)) return {nullptr, std::move(failed)};
    return {std::move(collector), std::nullopt};
}

}  // namespace shardscope::collectors

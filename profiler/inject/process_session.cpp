#include "profiler/inject/process_session.h"

#include "profiler/collectors/host/process_usage.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <utility>

namespace shardscope::inject {
namespace {

constexpr int kTurnMs = 50;
constexpr std::int64_t kSampleNs = 100'000'000;
/// A thread hands over its events within this of their time.
constexpr std::int64_t kSettleNs = 2'000'000;
/// Of a queue of 32 Ki spans and memory events, about 4 MB; in all within 64 MB with what waits.
constexpr std::size_t kQueueEvents = std::size_t{1} << 15;
constexpr std::size_t kMostQueues = 8;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

capture::ProcessHello hello() {
    capture::ProcessHello hello;
    hello.pid = ::getpid();
    std::random_device random;
    hello.session = std::uint64_t{random()} << 32 | random();
    return hello;
}

}  // namespace

Result<ProcessOptions> optionsFromEnvironment() {
    ProcessOptions options;
    options.socket = variable(capture::kSocketVariable);
    if (options.socket.empty())
        return failure(ErrorCode::kLaunch, std::string(capture::kSocketVariable) + " is not set");
    options.stepRange = variable(capture::kStepRangeVariable);
    const auto asked = capture::parseProcessCapture(variable(capture::kCaptureVariable));
    if (!asked) return failure(asked);
    options.capture = asked->wish;
    options.originNs = asked->originNs;
    return options;
}

Result<ProcessSession*> ProcessSession::start(const ProcessOptions& options) {
    auto schedule = CaptureSchedule::of(options.capture);
    if (!schedule) return failure(schedule);
    const auto descriptor = RecorderLink::connectTo(options.socket);
    if (!descriptor) return failure(descriptor);
    auto* session = new ProcessSession(options, *descriptor);
    session->startThread();
    return session;
}

ProcessSession::ProcessSession(const ProcessOptions& options, int descriptor)
    : m_options(options),
      m_link(options.socket, descriptor, hello()),
      m_capture({.rank = {},
                 .originNs = options.originNs,
                 .queueCapacity = kQueueEvents,
                 .mostQueues = kMostQueues,
                 .memoryFilter =
                     [this](std::vector<MemoryEvent>& events, bool all) {
                         m_memory.pass(events, m_capture.at(m_settledNs), all);
                     }},
                *this),
      m_marks(m_capture, CaptureSchedule::of(options.capture).value_or(CaptureSchedule()),
              [this](capture::StepEnded ended) { post(std::move(ended)); }),
      m_spans(m_capture, m_marks, options.stepRange),
      m_collectives(m_capture) {
    m_capture.declareLane(lanes::kResidentSet);
    m_capture.declareLane(lanes::kCpuTime);
}

/// It gets no signal of the program's.
void ProcessSession::startThread() {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    ::pthread_attr_setstacksize(&attributes, std::size_t{512} << 10);
    pthread_t thread{};
    const auto body = [](void* self) -> void* {
        static_cast<ProcessSession*>(self)->run();
        return nullptr;
    };
    if (::pthread_create(&thread, &attributes, body, this) == 0)
        ::pthread_setname_np(thread, "shardscope");
    ::pthread_attr_destroy(&attributes);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ProcessSession::run() {
    while (!m_link.isLost() && !m_finished) {
        m_link.turn(kTurnMs, [this](const capture::LinkMessage& order) { take(order); });
        const std::int64_t nowNs = hostNow();
        std::uint64_t asked = 0;
        {
            const std::lock_guard lock(m_mutex);
            asked = m_flushAsked;
        }
        const bool alone = collectors::isLastThread();
        const bool everything = alone || asked != m_flushDone;
        if (!m_ending) sample(nowNs);
        reportProgress(nowNs);
        if (m_spans.stacks().isFull() && !std::exchange(m_saidFull, true))
            log("warning",
                "Python stacks: there are too many different ones; further ones are not recorded");
        m_settledNs = nowNs - kSettleNs;
        m_capture.drain(nowNs, everything);
        if (!everything) continue;
        if (alone) post(capture::ProcessEnding{0, m_capture.emitted(), lost()});
        while (!m_link.isLost() && !m_link.isEmpty()) m_link.turn(kTurnMs, [](const auto&) {});
        if (alone) m_finished = true;
        const std::lock_guard lock(m_mutex);
        m_flushDone = asked;
        m_flushed.notify_all();
    }
    const std::lock_guard lock(m_mutex);
    m_flushDone = ~std::uint64_t{0};
    m_flushed.notify_all();
}

void ProcessSession::sample(std::int64_t nowNs) {
    if (nowNs < m_nextSampleNs) return;
    m_nextSampleNs = nowNs + kSampleNs;
    const collectors::ProcessUsage usage = collectors::processUsage();
    const Timestamp time = m_capture.at(nowNs);
    m_capture.push(
        CounterEvent{time, lanes::kResidentSet.id, static_cast<double>(usage.residentSet.count)});
    m_capture.push(CounterEvent{time, lanes::kCpuTime.id, static_cast<double>(usage.cpuTimeNs)});
}

void ProcessSession::reportProgress(std::int64_t nowNs) {
    constexpr std::int64_t kProgressNs = 2'000'000'000;
    if (nowNs < m_nextProgressNs) return;
    m_nextProgressNs = nowNs + kProgressNs;
    for (const capture::CollectiveProgress& each : m_collectives.progress(nowNs)) post(each);
}

void ProcessSession::take(const capture::LinkMessage& order) {
    if (const auto* line = std::get_if<ClockLine>(&order)) {
        m_capture.clock().correct(*line, hostNow());
    } else if (const auto* change = std::get_if<CaptureChange>(&order)) {
        auto schedule = CaptureSchedule::of(m_options.capture, *change);
        if (schedule) m_marks.change(std::move(*schedule));
    }
}

void ProcessSession::allocated(const void* block, std::size_t bytes, MemoryAction action) {
    MemoryEvent event;
    event.time = m_capture.at(hostNow());
    event.address = reinterpret_cast<std::uint64_t>(block);
    event.size = {static_cast<std::int64_t>(bytes)};
    event.action = action;
    event.step = m_marks.step();
    event.phase = m_marks.phase();
    m_spans.push(event);
}

void ProcessSession::metric(const char* name, double value) {
    post(MetricPoint{name, m_marks.step(), m_capture.at(hostNow()), value});
}

void ProcessSession::log(const char* level, std::string text) {
    post(capture::LogText{level, std::move(text)});
}

void ProcessSession::flush(int milliseconds) {
    std::unique_lock lock(m_mutex);
    const std::uint64_t asked = ++m_flushAsked;
    m_link.wake();
    m_flushed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                       [&] { return m_flushDone >= asked; });
}

void ProcessSession::finish(int status) {
    constexpr int kMostMs = 2000;
    m_ending = true;  // what is sampled after the account below would be too much
    flush(kMostMs);
    post(capture::ProcessEnding{status, m_capture.emitted(), lost()});
    flush(kMostMs);
    m_finished = true;
}

void ProcessSession::strings(StringId first, const std::vector<std::string>& texts) {
    post(capture::NewStrings{first, texts});
}

void ProcessSession::lane(const LaneFacts& lane) {
    post(lane);
}

void ProcessSession::chunk(const columns::ChunkBytes& bytes) {
    if (m_link.post(capture::EventChunk{bytes})) return;
    if (const auto header = columns::decodeHeader(bytes)) m_lostEvents += header->count;
}

}  // namespace shardscope::inject

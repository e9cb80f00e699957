#include "engine/worker/outbox.h"

#include "engine/control/observer.h"
#include "engine/run/protocol/frame.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace shardscope::worker {
namespace {

constexpr std::chrono::milliseconds kDrainInterval{200};
/// Hours of figures at a step a second, while the recorder is stopped.
constexpr std::size_t kMostPosted = std::size_t{16} << 20;

bool mayBeLost(const run::Message& message) {
    return std::holds_alternative<run::StepDone>(message) ||
           std::holds_alternative<run::RankActivity>(message) ||
           std::holds_alternative<run::MetricReported>(message) ||
           std::holds_alternative<run::LogLine>(message);
}

}  // namespace

Outbox::Outbox(int fd, RankId rank) : m_fd(fd), m_rank(rank) {}

Outbox::~Outbox() {
    finish();
}

void Outbox::post(const run::Message& message) {
    auto frame = run::encodeMessage(m_rank, run::encode(message));
    {
        const std::lock_guard lock(m_mutex);
        if (m_postedBytes + frame.size() > kMostPosted && mayBeLost(message)) {
            ++m_lost;
            return;
        }
        m_postedBytes += frame.size();
        m_posted.push_back(std::move(frame));
    }
    m_wakeUp.notify_one();
}

void Outbox::start(capture::CaptureSession& session, std::function<void(bool last)> sample) {
    m_session = &session;
    m_sample = std::move(sample);
    m_thread = std::thread([this] { run(); });
    pthread_setname_np(m_thread.native_handle(), "outbox");
}

void Outbox::finish(const std::optional<run::Message>& last) {
    const std::lock_guard ending(m_ending);
    if (!m_thread.joinable()) return;
    {
        const std::lock_guard lock(m_mutex);
        m_finishing = true;
    }
    m_wakeUp.notify_one();
    m_thread.join();
    if (last) write(run::encodeMessage(m_rank, run::encode(*last)));
}

void Outbox::run() {
    for (bool finishing = false; !finishing;) {
        {
            std::unique_lock lock(m_mutex);
            m_wakeUp.wait_for(lock, kDrainInterval,
                              [this] { return m_finishing || !m_posted.empty(); });
            finishing = m_finishing;
        }
        writePosted();  // first: sampling a broken device may never return
        m_sample(finishing);
        m_session->drain(hostNow(), finishing);
        writePosted();
    }
}

void Outbox::writePosted() {
    std::vector<std::vector<std::byte>> posted;
    std::int64_t lost = 0;
    {
        const std::lock_guard lock(m_mutex);
        posted = std::exchange(m_posted, {});
        m_postedBytes = 0;
        lost = std::exchange(m_lost, 0);
    }
    for (const auto& frame : posted) write(frame);
    if (lost > 0) tellOfLost(lost);
}

void Outbox::raise(Severity severity, std::string code, std::string message, std::string remedy) {
    post(run::DiagnosticRaised{{severity, std::move(code), std::move(message), std::move(remedy),
                                m_rank, m_session->at(hostNow()), 1}});
}

tl::unexpected<Error> Outbox::fail(const Error& error, std::string code) {
    post(run::RankFailed{.message = error.message, .code = std::move(code)});
    return tl::unexpected<Error>(error);
}

void Outbox::tellOfLost(std::int64_t lost) {
    const std::string message = fmt::format(
        "rank {} dropped {} reports of steps, metrics and log lines: the recorder did "
        "not take them for too long",
        m_rank.value, lost);
    const Diagnostic diagnostic{Severity::kWarning,
                                "reports-dropped",
                                message,
                                "Let the recorder run (fg, or kill -CONT) while it records.",
                                m_rank,
                                m_session->at(hostNow()),
                                lost};
    write(run::encodeMessage(m_rank, run::encode(run::DiagnosticRaised{diagnostic})));
}

void Outbox::write(const std::vector<std::byte>& frame) {
    std::size_t done = 0;
    while (!m_broken && done < frame.size()) {
        const ssize_t written =
            ::send(m_fd, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
        if (written > 0) {
            done += static_cast<std::size_t>(written);
        } else if (errno != EINTR) {
            m_broken = true;  // the command thread sees the same end of file and stops the rank
        }
    }
}

void Outbox::strings(StringId first, const std::vector<std::string>& texts) {
    write(run::encodeMessage(m_rank, run::encode(run::StringsDeclared{first.value, texts})));
}

void Outbox::lane(const LaneFacts& lane) {
    write(run::encodeMessage(m_rank, run::encode(run::LaneDeclared{lane})));
}

void Outbox::chunk(const columns::ChunkBytes& bytes) {
    write(run::encodeFrame(run::FrameType::kChunk, m_rank, bytes));
}

}  // namespace shardscope::worker

#include "app/cli/interruptible.h"

#include "app/cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

namespace shardscope::cli {
namespace {

std::atomic<int> signals = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void onInterrupt(int) {
    ++signals;
}

}  // namespace

InterruptGuard::InterruptGuard() {
    signals = 0;
    struct sigaction action {};
    action.sa_handler = onInterrupt;
    sigaction(SIGINT, &action, &m_interrupt);
    sigaction(SIGTERM, &action, &m_terminate);
    sigaction(SIGHUP, &action, &m_hangup);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &m_interrupt, nullptr);
    sigaction(SIGTERM, &m_terminate, nullptr);
    sigaction(SIGHUP, &m_hangup, nullptr);
}

int InterruptGuard::times() {
    return signals;
}

ProgressLine::ProgressLine(std::string doing, bool wanted)
    : m_doing(std::move(doing)), m_wanted(wanted && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
    if (m_shown) draw("\r\033[K");
}

void ProgressLine::show(double share) {
    const auto now = std::chrono::steady_clock::now();
    if (!m_wanted || now - m_last < std::chrono::milliseconds(100)) return;
    m_last = now;
    m_shown = true;
    // Standard input has no size, so its share is not known.
    if (share > 0)
        draw(fmt::format("\r\033[K{}: {:.0f} %", m_doing, share * 100));
    else
        draw(fmt::format("\r\033[K{} ...", m_doing));
}

}  // namespace shardscope::cli

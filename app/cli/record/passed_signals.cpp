#include "app/cli/record/passed_signals.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace shardscope::cli {
namespace {

/// Signals that the program gets where another process sends them to us.
constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

}  // namespace

Result<PassedSignals> PassedSignals::open() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int each : kPassedOn) ::sigaddset(&signals, each);
    FileDescriptor descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor.valid() || ::sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
        return failure(ErrorCode::kFailure,
                       fmt::format("signals cannot be received: {}", std::strerror(errno)));
    return PassedSignals(std::move(descriptor));
}

void PassedSignals::attach(launch::ProgramSupervisor& program) {
    attach(program,
           [&program](int number, bool fromTerminal) { program.passOn(number, fromTerminal); });
}

void PassedSignals::attach(launch::RunControl& run,
                           std::function<void(int number, bool fromTerminal)> pass) {
    run.watch(m_descriptor.get(), [fd = m_descriptor.get(), pass = std::move(pass)] {
        signalfd_siginfo signal{};
        while (::read(fd, &signal, sizeof signal) == sizeof signal)
            pass(static_cast<int>(signal.ssi_signo), signal.ssi_code == SI_KERNEL);
        return true;
    });
}

bool PassedSignals::askedToStop() const {
    bool asked = false;
    signalfd_siginfo signal{};
    while (::read(m_descriptor.get(), &signal, sizeof signal) == sizeof signal)
        asked = asked || signal.ssi_signo == SIGINT || signal.ssi_signo == SIGTERM;
    return asked;
}

}  // namespace shardscope::cli

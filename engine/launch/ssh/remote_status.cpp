#include "engine/launch/ssh/remote_status.h"

#include "engine/launch/ssh/child_process.h"

#include <fmt/format.h>

#include <sstream>

namespace shardscope::launch {
namespace {

/// The last line that says something of the cause; tar's own last one does not.
std::string causeIn(const std::string& words) {
    std::istringstream lines(words);
    std::string cause;
    for (std::string line; std::getline(lines, line);) {
        const bool isMere = line.find("Exiting with failure") != std::string::npos ||
                            line.find("Error is not recoverable") != std::string::npos;
        if (!isMere && !line.empty()) cause = line;
    }
    return lastLineOf(cause);
}

std::string statusText(const std::string& host, const std::string& folder, RemoteStatus status) {
    switch (status) {
        case RemoteStatus::kNoFolder:
            return fmt::format(
                "nothing can be put into {} on {}; name another folder for this "
                "host, or make that one writable",
                folder, host);
        case RemoteStatus::kNotUnpacked:
            return fmt::format(
                "what was sent to {} could not be stored in {}, and nothing of it "
                "was left there; make room, or name another folder for this host",
                host, folder);
        case RemoteStatus::kSumsDiffer:
            return fmt::format(
                "what was stored in {} on {} is not what was sent, and was removed; "
                "see to that disk, or name another folder for this host",
                folder, host);
        case RemoteStatus::kDoesNotRun:
            return fmt::format("the program does not run on {}", host);
        case RemoteStatus::kNotExecutable:
            return fmt::format(
                "programs in {} on {} may not be executed: it may be mounted "
                "noexec; name another folder for this host",
                folder, host);
        case RemoteStatus::kRankDoesNotLoad:
            return fmt::format(
                "ranks cannot be loaded with the LibTorch found on {}; have "
                "another one sent there (--deploy-libtorch)",
                host);
        case RemoteStatus::kCannotFetch:
        case RemoteStatus::kNotFetched:
            break;  // told where there is LibTorch to speak of
    }
    return {};
}

}  // namespace

std::string exitWith(RemoteStatus status) {
    return fmt::format("exit {}", static_cast<int>(status));
}

std::string programCheck() {
    // 126: found, and not executable. Whoever may not run it is told before anything depends on it.
    return "LD_LIBRARY_PATH=\"$f/lib\" \"$f/bin/shardscope\" --version </dev/null >/dev/null; "
           "r=$?; "
           "[ $r -eq 126 ] && " +
           exitWith(RemoteStatus::kNotExecutable) + "; [ $r -eq 0 ] || " +
           exitWith(RemoteStatus::kDoesNotRun) + "; ";
}

Error remoteError(const SshHost& host, const std::string& folder, SshSession& session,
                  const std::string& doing) {
    const std::string cause = causeIn(session.words());
    const int code = session.child().end() ? session.child().end()->code.value_or(-1) : -1;
    std::string text = statusText(host.target, folder, static_cast<RemoteStatus>(code));
    if (text.empty())
        return {ErrorCode::kLaunch, fmt::format("{} {} {}", doing, host.target, session.endText())};
    return {ErrorCode::kLaunch, cause.empty() ? text : fmt::format("{} ({})", text, cause)};
}

}  // namespace shardscope::launch

#include "engine/launch/ssh/ssh_words.h"

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/ssh_command.h"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace shardscope::launch {
namespace {

/// In this order: ssh says several things, the first cause among them decides.
constexpr std::array<std::pair<std::string_view, SshFailure>, 19> kSigns = {{
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", SshFailure::kChangedKey},
    {"has changed and you have requested strict checking", SshFailure::kChangedKey},
    {"REVOKED HOST KEY", SshFailure::kChangedKey},
    {"Host key verification failed", SshFailure::kUnknownKey},
    {"Could not resolve hostname", SshFailure::kNoSuchName},
    {"Connection refused", SshFailure::kRefused},
    {"Permission denied (", SshFailure::kDenied},
    {"Too many authentication failures", SshFailure::kDenied},
    {"Connection timed out", SshFailure::kTimedOut},
    {"Operation timed out", SshFailure::kTimedOut},
    {"timed out during banner exchange", SshFailure::kDropped},
    {"kex_exchange_identification", SshFailure::kDropped},
    {"ssh_exchange_identification", SshFailure::kDropped},
    {"Exceeded MaxStartups", SshFailure::kDropped},
    {"Not allowed at this time", SshFailure::kDropped},
    {"Connection reset by", SshFailure::kDropped},
    {"Connection closed by", SshFailure::kDropped},
    {"No route to host", SshFailure::kTimedOut},
    {"Network is unreachable", SshFailure::kTimedOut},
}};

/// ssh's lines in one, without the frame that it draws.
std::string inOneLine(const std::string& words) {
    std::istringstream lines(words);
    std::string joined;
    for (std::string line; std::getline(lines, line);) {
        const auto begin = line.find_first_not_of("@ \r\t");
        if (begin == std::string::npos) continue;
        const auto end = line.find_last_not_of("@ \r\t");
        if (!joined.empty()) joined += ' ';
        joined.append(line, begin, end + 1 - begin);
    }
    return joined;
}

std::string unknownKeyText(const SshOptions& options, const SshHost& host,
                           const std::string& fingerprint) {
    const bool another = !options.acceptKey.empty() && !fingerprint.empty() &&
                         fingerprint.find(options.acceptKey) == std::string::npos;
    if (another)
        return fmt::format(
            "the key of {} is {}, not the one given by --accept-key ({}); nothing was sent there, "
            "and ssh has kept neither: ask the host's owner which one is its own",
            host.target, fingerprint, options.acceptKey);
    const std::string key = fingerprint.empty() ? "its key" : "its key " + fingerprint;
    return fmt::format(
        "{} is not known to this user's ssh: {} is in no known_hosts file; compare it with what "
        "the host's owner says, then connect once by hand: {}",
        host.target, key, typedCommand(options, host));
}

std::string text(const SshOptions& options, const SshHost& to, const std::string& words,
                 const std::string& fingerprint) {
    const std::string last = lastLineOf(words);
    const std::string& host = to.target;
    const std::string typed = typedCommand(options, to);
    switch (failureOf(words)) {
        case SshFailure::kUnknownKey:
            return unknownKeyText(options, to, fingerprint);
        case SshFailure::kChangedKey:
            return fmt::format(
                "the key of {} is not the one that this user's ssh knows, so nothing was sent "
                "there; ssh says: {}",
                host, inOneLine(words));
        case SshFailure::kDenied:
            return fmt::format(
                "{} does not let this user in ({}); no password is asked for: see that `{}` works "
                "without one (ssh-copy-id, ssh-add)",
                host, last, typed);
        case SshFailure::kRefused:
            return fmt::format(
                "{} refuses ssh connections ({}); see that its ssh server runs, and on that port",
                host, last);
        case SshFailure::kNoSuchName:
            return fmt::format(
                "there is no host {} ({}); correct the name, or name it in ssh's "
                "configuration",
                host, last);
        case SshFailure::kTimedOut:
            return fmt::format(
                "{} cannot be reached ({}); see that it is on, and that nothing "
                "between here and there blocks ssh",
                host, last);
        case SshFailure::kDropped:
            return fmt::format(
                "the ssh server of {} hung up on every try ({}); it may be at its "
                "limits (MaxStartups) or may not let this address in",
                host, last);
        case SshFailure::kOther:
            break;
    }
    return fmt::format("ssh could not connect to {}: {}; try: {}", host,
                       last.empty() ? "it ended without a word" : last, typed);
}

}  // namespace

SshFailure failureOf(const std::string& words) {
    for (const auto& [sign, kind] : kSigns)
        if (words.find(sign) != std::string::npos) return kind;
    return SshFailure::kOther;
}

Error connectError(const SshOptions& options, const SshHost& host, const std::string& words,
                   const std::string& fingerprint) {
    return {ErrorCode::kLaunch, text(options, host, words, fingerprint)};
}

std::string fingerprintIn(const std::string& verbose) {
    constexpr std::string_view kSign = "Server host key: ";
    const auto found = verbose.rfind(kSign);
    if (found == std::string::npos) return {};
    const auto begin = found + kSign.size();
    return verbose.substr(begin, verbose.find_first_of("\r\n", begin) - begin);
}

}  // namespace shardscope::launch

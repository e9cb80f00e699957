#include "engine/launch/ssh/ssh_command.h"

#include "engine/launch/process.h"
#include "engine/launch/ssh/login_shell.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace shardscope::launch {
namespace {

using Words = std::vector<std::string>;

void append(Words& all, std::initializer_list<const char*> added) {
    all.insert(all.end(), added.begin(), added.end());
}

/// No terminal; nothing of the user's is forwarded, since nothing there has a use for it.
Words plain(const SshOptions& options) {
    Words all = options.command;
    append(all, {"-T", "-x", "-a", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"});
    return all;
}

Words connecting(const SshOptions& options, AskPolicy ask) {
    Words all = plain(options);
    // Three questions without an answer are a lease.
    const auto interval = std::max<std::int64_t>(1, options.lease.count() / 3);
    append(all, {"-o", "ConnectTimeout=10", "-o"});
    all.push_back("ServerAliveInterval=" + std::to_string(interval));
    append(all, {"-o", "ServerAliveCountMax=3", "-o"});
    const bool answers = ask == AskPolicy::kNever && !options.acceptKey.empty();
    all.emplace_back(ask == AskPolicy::kNever && !answers ? "BatchMode=yes" : "BatchMode=no");
    if (answers)
        all.insert(all.begin(), {"env", "SSH_ASKPASS_REQUIRE=force", "SSH_ASKPASS=" + ownProgram(),
                                 std::string(kAcceptedKey) + "=" + options.acceptKey});
    // Even where there is a terminal, which is not ours to ask at.
    if (ask == AskPolicy::kAskpass) all.insert(all.begin(), {"env", "SSH_ASKPASS_REQUIRE=force"});
    return all;
}

}  // namespace

Words masterWords(const SshOptions& options, const SshHost& host, const std::string& socket) {
    Words all = connecting(options, options.ask);
    append(all, {"-M", "-N", "-o", "ControlPersist=no", "-o", "PermitLocalCommand=yes", "-o",
                 "LocalCommand=echo", "-S"});
    all.insert(all.end(), {socket, "--", host.target});
    return all;
}

Words sessionWords(const SshOptions& options, const SshHost& host, const std::string& socket,
                   const std::string& command) {
    Words all = plain(options);
    // Without its master ssh would quietly connect anew; through this proxy it cannot.
    append(all, {"-o", "ProxyCommand=false", "-o", "ControlMaster=no", "-S"});
    all.insert(all.end(), {socket, "--", host.target, command});
    return all;
}

std::string typedCommand(const SshOptions& options, const SshHost& host,
                         const std::string& command) {
    std::string line;
    for (const std::string& word : options.command) line += typedWord(word) + ' ';
    line += typedWord(host.target);
    return command.empty() ? line : line + ' ' + command;
}

Words keyWords(const SshOptions& options, const SshHost& host) {
    SshOptions asking = options;
    asking.acceptKey.clear();
    Words all = connecting(asking, AskPolicy::kNever);
    append(all, {"-v", "-N", "-S", "none", "--"});
    all.push_back(host.target);
    return all;
}

std::string answerTo(std::string_view question, std::string_view accepted) {
    const bool aboutKey = question.find("(yes/no/[fingerprint])") != question.npos ||
                          question.find("Please type 'yes', 'no'") != question.npos;
    if (!aboutKey) return {};
    const bool thatOne = !accepted.empty() && question.find(accepted) != question.npos;
    return thatOne ? std::string(accepted) : "no";
}

}  // namespace shardscope::launch

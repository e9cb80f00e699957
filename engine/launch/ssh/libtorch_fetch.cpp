#include "engine/launch/ssh/libtorch_fetch.h"

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/host_look.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace shardscope::launch {
namespace {

constexpr std::string_view kTaken = "taken_kb=";

// The group is that of the login, which nothing else is in. The script tidies up when it is asked
// to end; what does not listen is killed.
constexpr const char* kWatch =
    "exec 3<&0 </dev/null; ( trap '' HUP INT TERM; while read -r x; do :; done; kill -TERM 0; "
    "sleep 5; kill -KILL 0 ) <&3 >/dev/null 2>&1 & w=$!; exec 3<&-; ";
// A download says nothing for minutes; that it goes on is to be seen.
constexpr const char* kTell =
    "( while sleep 2 >/dev/null 2>&1; do echo \"taken_kb=$(du -sk \"$b\"/shardscope/fetch.?????? "
    "2>/dev/null | cut -f 1 | head -n 1)\"; done ) & h=$!; ";

std::string number(RemoteStatus status) {
    return std::to_string(static_cast<int>(status));
}

/// The last words of the script, without its name.
std::string causeIn(const std::string& words) {
    constexpr std::string_view kName = "fetch-libtorch: ";
    std::string cause = lastLineOf(words);
    if (cause.starts_with(kName)) cause.erase(0, kName.size());
    return cause.empty() ? "it did not say why" : cause;
}

}  // namespace

std::string fetchLine(const SshHost& host, const Token& token, const Payload& payload, bool cuda) {
    const std::string script =
        fmt::format("bash \"$b\"/shardscope/{}/{} {}", shellWord(payload.program.folder),
                    kFetchScript, cuda ? "--cuda" : "--cpu");
    // pip would keep a second copy of it all.
    return "LC_ALL=C; export LC_ALL; umask 077; " + folderWords(host) +
           "XDG_CACHE_HOME=$b; PIP_NO_CACHE_DIR=1; PIP_NO_INPUT=1; "
           "export XDG_CACHE_HOME PIP_NO_CACHE_DIR PIP_NO_INPUT; " +
           token.printing() + "; " + kWatch + kTell +
           "e() { kill -KILL $w $h 2>/dev/null; exec 2>/dev/null; exit $1; }; " + script +
           " --check >/dev/null || e " + number(RemoteStatus::kCannotFetch) + "; " + script +
           " || e " + number(RemoteStatus::kNotFetched) + "; e 0";
}

Result<LibTorchFetch> LibTorchFetch::start(const SshOptions& options, const SshHost& host,
                                           const SshMaster& master, const Payload& payload,
                                           bool cuda) {
    const Token token;
    auto session =
        SshSession::start(options, host, master, token, fetchLine(host, token, payload, cuda));
    if (!session) return failure(session);
    return LibTorchFetch(std::move(*session));
}

void LibTorchFetch::turn() {
    m_session.turn(true);
    const std::string& output = m_session.output();
    for (std::size_t end; (end = output.find('\n', m_read)) != std::string::npos;
         m_read = end + 1) {
        const std::string_view line(output.data() + m_read, end - m_read);
        if (!line.starts_with(kTaken)) {
            m_doing = line;
            continue;
        }
        std::int64_t kilobytes = 0;
        std::from_chars(line.data() + kTaken.size(), line.data() + line.size(), kilobytes);
        m_taken = Bytes{kilobytes * 1024};
    }
}

std::string LibTorchFetch::whyNot() {
    if (m_session.endedWith(0)) return {};
    const std::string& words = m_session.words();
    if (m_session.endedWith(static_cast<int>(RemoteStatus::kCannotFetch)))
        return "it cannot be fetched there: " + causeIn(words);
    if (m_session.endedWith(static_cast<int>(RemoteStatus::kNotFetched)))
        return "fetching it there failed: " + causeIn(words);
    return "fetching it there " + m_session.endText();
}

}  // namespace shardscope::launch

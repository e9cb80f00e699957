// Runs fetch-libtorch, which lies in the program's package, on a host: sees first, within seconds,
// whether it can be done there. It and all that it has started end when our stream does, and take
// up later what they have done.
//
// Used from one poll loop; nothing here waits.
#pragma once

#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_master.h"
#include "engine/launch/ssh/ssh_options.h"
#include "engine/launch/ssh/ssh_session.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <poll.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {

class LibTorchFetch {
public:
    /// The program of `payload` is there. `cuda`: with all that ranks need on GPUs.
    static Result<LibTorchFetch> start(const SshOptions& options, const SshHost& host,
                                       const SshMaster& master, const Payload& payload, bool cuda);

    void addPolls(std::vector<pollfd>& polls) const { m_session.addPolls(polls); }
    void turn();

    [[nodiscard]] bool isDone() { return m_session.hasEnded(); }
    /// Once it is done: empty, or why there is no LibTorch, for the end of a sentence.
    [[nodiscard]] std::string whyNot();

    /// What it says that it does: "downloading torch==2.11.0"; empty: it has not begun.
    [[nodiscard]] const std::string& doing() const { return m_doing; }
    /// What lies there until it is put in place.
    [[nodiscard]] Bytes taken() const { return m_taken; }
    SshSession& session() { return m_session; }

private:
    explicit LibTorchFetch(SshSession session) : m_session(std::move(session)) {}

    SshSession m_session;
    std::size_t m_read = 0;  ///< of the session's output
    std::string m_doing;
    Bytes m_taken{};
};

/// The line that does it; see above.
[[nodiscard]] std::string fetchLine(const SshHost& host, const Token& token, const Payload& payload,
                                    bool cuda);

}  // namespace shardscope::launch

#include "app/cli/record/kineto_run.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;

/// Datagrams of one turn; more wait for the next.
constexpr int kMostAtOnce = 256;

std::int64_t nowMs() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// Below /tmp, where newer Kineto wants traces that others ask for.
Result<std::string> privateFolder() {
    std::string folder = "/tmp/shardscope-kineto-XXXXXX";
    if (::mkdtemp(folder.data()) != nullptr) return folder;
    return failure(ErrorCode::kFailure,
                   fmt::format("no folder can be made in /tmp: {}", std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<KinetoRun>> KinetoRun::open(launch::kineto::SessionRequest request, At at) {
    auto folder = privateFolder();
    if (!folder) return failure(folder);
    std::unique_ptr<KinetoRun> run(new KinetoRun(std::move(request)));
    run->m_folder = *folder;
    launch::kineto::SessionRequest& asked = run->m_request;
    if (at == At::kFolder && asked.socketFolder.empty()) asked.socketFolder = *folder;
    // Processes in containers see that folder, if any.
    asked.folder = asked.socketFolder.empty() ? *folder : asked.socketFolder;
    auto socket = launch::kineto::DaemonSocket::open(asked.socketFolder);
    if (!socket) return failure(socket);
    run->m_socket = std::make_unique<launch::kineto::DaemonSocket>(std::move(*socket));
    run->m_session = std::make_unique<launch::kineto::Session>(asked);
    return run;
}

KinetoRun::~KinetoRun() {
    std::error_code ignored;
    if (m_session)
        for (const std::string& file : m_session->files()) fs::remove(file, ignored);
    m_socket.reset();
    fs::remove_all(m_folder, ignored);
}

void KinetoRun::turn() {
    for (int i = 0; i < kMostAtOnce; ++i) {
        const auto datagram = m_socket->receive();
        if (!datagram) break;
        const auto answer =
            m_session->hear(datagram->bytes, datagram->pid, datagram->user, nowMs());
        if (answer) m_socket->send(datagram->from, *answer);
    }
    m_session->tick(nowMs());
}

}  // namespace shardscope::cli

// The daemon of one window: its socket, its session with the program's processes, and the files
// that come and go with it.
#pragma once

#include "engine/launch/kineto/protocol.h"
#include "engine/launch/kineto/session.h"
#include "storage/model/result.h"

#include <memory>
#include <string>

namespace shardscope::cli {

class KinetoRun {
public:
    enum class At : std::uint8_t {
        kFolder,   ///< a private one, or request.socketFolder where that is not empty
        kMachine,  ///< request.socketFolder, or the name that all processes of the machine use
    };
    static Result<std::unique_ptr<KinetoRun>> open(launch::kineto::SessionRequest request, At at);
    KinetoRun(const KinetoRun&) = delete;
    KinetoRun& operator=(const KinetoRun&) = delete;
    /// Removes traces, and what we and the processes have left for each other.
    ~KinetoRun();

    /// Becomes readable when there is something to turn() for; also at least once a second.
    [[nodiscard]] int fd() const { return m_socket->fd(); }
    void turn();
    [[nodiscard]] launch::kineto::Session& session() { return *m_session; }
    /// Private to this user: for settings.
    [[nodiscard]] const std::string& folder() const { return m_folder; }
    [[nodiscard]] const launch::kineto::SessionRequest& request() const { return m_request; }

private:
    explicit KinetoRun(launch::kineto::SessionRequest request) : m_request(std::move(request)) {}

    launch::kineto::SessionRequest m_request;
    std::string m_folder;
    std::unique_ptr<launch::kineto::DaemonSocket> m_socket;
    std::unique_ptr<launch::kineto::Session> m_session;
};

}  // namespace shardscope::cli

#include "tests/engine/launch/ssh/ssh_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope::launch {
namespace {

constexpr const char* kServer = "/usr/sbin/sshd";

void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

/// Free a moment ago; a server that does not get it is started on another one.
int freePort() {
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

bool isServer(pid_t pid) {
    std::string name;
    std::ifstream(fmt::format("/proc/{}/comm", pid)) >> name;
    return name.starts_with("sshd");
}

/// One serves root's connection; of other users' one watches, and one below it serves.
void addServersBelow(pid_t pid, std::vector<pid_t>& pids) {
    std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
    for (pid_t child = 0; file >> child;) {
        if (!isServer(child)) continue;
        pids.push_back(child);
        addServersBelow(child, pids);
    }
}

}  // namespace

std::string SshServer::missing() {
    if (::access(kServer, X_OK) != 0) return "there is no /usr/sbin/sshd (openssh-server)";
    std::error_code error;
    if (::geteuid() == 0) std::filesystem::create_directories("/run/sshd", error);
    return error ? "sshd needs /run/sshd, which cannot be made" : "";
}

SshServer::SshServer(const std::string& configuration) {
    std::filesystem::create_directory(home());
    makeKeys();
    setLogin("eval \"$SSH_ORIGINAL_COMMAND\"");
    bool started = false;
    for (int tries = 0; tries < 5 && !started; ++tries) started = start(configuration);
    EXPECT_TRUE(started) << log();
    writeClientConfiguration();
}

SshServer::~SshServer() {
    if (!m_server) return;
    // Those that serve connections write to the log, and would make it anew in a removed folder.
    ::kill(m_server->pid(), SIGSTOP);
    const std::vector<pid_t> serving = children();
    m_server->stop(SIGKILL, std::chrono::seconds(5));
    for (const pid_t each : serving) {
        ::kill(each, SIGKILL);
        const std::string place = fmt::format("/proc/{}", each);
        for (int turn = 0; turn < 1000 && ::access(place.c_str(), F_OK) == 0; ++turn)
            ::poll(nullptr, 0, 5);
    }
}

std::vector<pid_t> SshServer::children() const {
    std::vector<pid_t> pids;
    addServersBelow(m_server->pid(), pids);
    return pids;
}

void SshServer::signalAll(int signal) {
    for (const pid_t each : children()) ::kill(each, signal);
    ::kill(m_server->pid(), signal);
}

void SshServer::makeKeys() const {
    for (const char* name : {"host_key", "user_key", "other_key"}) {
        const auto made =
            outputOf({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(name)});
        EXPECT_TRUE(made.has_value());
    }
    std::filesystem::copy_file(file("user_key.pub"), file("authorized"));
}

bool SshServer::start(const std::string& configuration) {
    m_port = freePort();
    // SHLVL: bash that a server starts reads the user's ~/.bashrc, which may take a second, unless
    // it stands below another shell.
    write(file("server"),
          fmt::format("Port {}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\n"
                      "AuthorizedKeysFile {}\nUsePAM no\nStrictModes no\n"
                      "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                      "PermitRootLogin prohibit-password\nForceCommand /bin/sh {}\n"
                      "SetEnv SHLVL=5\n{}\n",
                      m_port, file("host_key"), file("authorized"), file("login"), configuration));
    auto server = ChildProcess::start({kServer, "-D", "-f", file("server"), "-E", file("log")});
    if (!server) return false;
    m_server.emplace(std::move(*server));
    // Another program may have taken the port by now, and would answer as well.
    const std::string listens = fmt::format("Server listening on 127.0.0.1 port {}.", m_port);
    while (!m_server->end()) {
        if (log().find(listens) != std::string::npos) return true;
        ::poll(nullptr, 0, 5);
    }
    return false;
}

void SshServer::writeClientConfiguration() const {
    const auto knownAs = [this](const char* key) {
        std::istringstream words(read(file(std::string(key) + ".pub")));
        std::string type;
        std::string text;
        words >> type >> text;
        return fmt::format("[127.0.0.1]:{} {} {}\n", m_port, type, text);
    };
    write(file("known"), knownAs("host_key"));
    write(file("known_other"), knownAs("other_key"));
    const std::string common = fmt::format(
        "  HostName 127.0.0.1\n  Port {}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        "  GlobalKnownHostsFile none\n",
        m_port);
    const auto host = [&](const char* names, const char* key, const char* known) {
        return fmt::format("Host {}\n  IdentityFile {}\n  UserKnownHostsFile {}\n{}", names,
                           file(key), file(known), common);
    };
    write(clientConfiguration(),
          host("unknown", "user_key", "known_none") + host("changed", "user_key", "known_other") +
              host("wrong", "other_key", "known") + host("node*", "user_key", "known"));
}

std::string SshServer::fingerprint() const {
    const auto told = outputOf({"ssh-keygen", "-l", "-f", file("host_key.pub")});
    if (!told) return "";
    std::istringstream words(*told);
    std::string bits;
    std::string sum;
    words >> bits >> sum;
    return sum;
}

std::string SshServer::log() const {
    return read(file("log"));
}

void SshServer::setLogin(const std::string& script) const {
    write(file("login"),
          fmt::format("HOME={}; export HOME; unset XDG_CACHE_HOME; cd\n{}\n", home(), script));
}

void SshServer::setShell(const std::string& shell) const {
    setLogin(fmt::format("exec {} -c \"$SSH_ORIGINAL_COMMAND\"", shell));
}

}  // namespace shardscope::launch

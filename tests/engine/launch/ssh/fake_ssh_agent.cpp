// An agent without ranks: introduces itself, does what its recorder's log lines ask for, and ends
// when its input does.
//
//   "exit N"   ends with this status
//   "say TEXT" writes TEXT to standard error
//   "send N"   sends N chunks of a megabyte
#include "engine/launch/frame_channel.h"
#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace shardscope {
namespace {

constexpr std::size_t kMegabyte = 1u << 20;

class FakeAgent {
public:
    int run() {
        run::AgentHello hello;
        hello.protocol = run::kProtocolVersion;
        hello.product = "fake agent";
        hello.pid = ::getpid();
        const char* libraries = std::getenv("LD_LIBRARY_PATH");
        hello.host.name = libraries != nullptr ? libraries : "";
        m_recorder.send(run::kNoRank, hello);
        while (m_recorder.isOpen()) turn();
        return 0;
    }

private:
    void turn() {
        std::vector<pollfd> polls;
        m_recorder.addPolls(polls, true);
        ::poll(polls.data(), polls.size(), 100);
        std::vector<run::Frame> frames;
        if (!m_recorder.receive(frames)) ::_exit(3);
        for (const run::Frame& frame : frames) handle(frame);
        while (m_toSend > 0 && m_recorder.pendingBytes() < 4 * kMegabyte) {
            m_recorder.send({run::FrameType::kChunk, RankId{0}, std::vector<std::byte>(kMegabyte)});
            --m_toSend;
        }
        m_recorder.flush();
    }

    void handle(const run::Frame& frame) {
        const auto message = run::decode(frame.text());
        const auto* line = message ? std::get_if<run::LogLine>(&*message) : nullptr;
        if (line == nullptr) return;
        const auto blank = line->text.find(' ');
        const std::string verb = line->text.substr(0, blank);
        const std::string rest = line->text.substr(blank + 1);
        if (verb == "exit") ::_exit(std::stoi(rest));
        if (verb == "say") fmt::print(stderr, "{}\n", rest);
        if (verb == "send") m_toSend = std::stoi(rest);
    }

    launch::FrameChannel m_recorder{FileDescriptor(0), FileDescriptor(1)};
    int m_toSend = 0;
};

}  // namespace
}  // namespace shardscope

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return 0;
    if (argc != 2 || std::strcmp(argv[1], "agent") != 0) return 2;
    std::signal(SIGPIPE, SIG_IGN);
    return shardscope::FakeAgent().run();
}

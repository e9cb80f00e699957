// An agent that speaks over a descriptor: a process of its own, for tests that give it a clock.
#include "engine/launch/agent.h"

#include <csignal>

int main(int argc, char** argv) {
    using namespace shardscope::launch;
    if (argc != 2) return 2;
    std::signal(SIGPIPE, SIG_IGN);
    return Agent(FrameChannel(shardscope::FileDescriptor(std::atoi(argv[1]))), "agent under test").run();
}

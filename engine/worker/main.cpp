// shardscope-rank: one training rank. Started by `shardscope agent`, or with --probe by
// `shardscope doctor`; never by hand.
#include "engine/control/failure_sentence.h"
#include "engine/worker/command_reader.h"
#include "engine/worker/instruction_sets.h"
#include "engine/worker/probe.h"
#include "engine/worker/rank_worker.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// The descriptor after --fd, or -1.
int streamDescriptor(int argc, char** argv) {
    if (argc != 3 || std::strcmp(argv[1], "--fd") != 0) return -1;
    int fd = -1;
    const char* end = argv[2] + std::strlen(argv[2]);
    const auto parsed = std::from_chars(argv[2], end, fd);
    return parsed.ptr == end ? fd : -1;
}

/// Ends the process as a rank does.
[[noreturn]] void probe() {
    if (const std::string dropped = shardscope::worker::dropImpossibleCapability();
        !dropped.empty())
        std::fprintf(stderr, "shardscope-rank: %s\n", dropped.c_str());
    shardscope::worker::probe([](const shardscope::run::ProbePart& part) {
        std::puts(shardscope::run::encodePart(part).c_str());
        std::fflush(stdout);
    });
    std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace shardscope;
    control::endWithSentence("shardscope-rank", exitStatus({ErrorCode::kRank, ""}));
    if (argc == 2 && std::strcmp(argv[1], "--probe") == 0) probe();
    const int fd = streamDescriptor(argc, argv);
    if (fd < 0) {
        std::fputs("shardscope-rank is started by `shardscope record`; run that instead\n", stderr);
        return exitStatus({ErrorCode::kUsage, ""});
    }
    worker::CommandReader commands(fd);
    auto start = commands.readStart();
    if (!start) {
        std::fprintf(stderr, "shardscope-rank: %s\n", start.error().message.c_str());
        return exitStatus(start.error());
    }
    commands.watch();
    int status = 0;
    {
        worker::RankWorker rank(fd, std::move(*start), commands);
        if (const auto result = rank.run(); !result) {
            std::fprintf(stderr, "shardscope-rank: %s\n", result.error().message.c_str());
            status = exitStatus(result.error());
        }
    }
    commands.expectEnd();
    std::fflush(nullptr);
    // LibTorch's static destructors have nothing of ours to save.
    std::_Exit(status);
}

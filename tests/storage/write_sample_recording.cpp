// write_sample_recording FOLDER: cpu.sscope, gpu.sscope and imported.sscope there, for tests that
// are no C++.
#include "storage/interchange/trace_builder.h"
#include "tests/support/sample_recording.h"

#include <cstdio>

namespace shardscope {
namespace {

/// Spans with arguments of every kind.
Result<void> writeImported(const std::string& path) {
    constexpr RankId kRank{1};
    RunFacts run;
    run.id = "imported";
    run.worldSize = 2;
    auto builder = interchange::TraceBuilder::create(path, run, true);
    if (!builder) return failure(builder);
    const LaneId lane = builder->lane(kRank, {"7", "8"}, LaneRole::kHost, "thread 8");
    SpanEvent span;
    span.lane = lane;
    span.name = builder->intern(kRank, "operator");
    for (int i = 0; i < 400; ++i) {
        span.start = {1'000 * i};
        span.duration = {i % 7 * 100};
        const std::string number = std::to_string(i * 7919 % 1000);
        std::string arguments = R"({"External id":)" + std::to_string(i) + R"(,"rate":0.)" + number;
        arguments += R"(,"%#@\"":-12.)" + number + R"(,"dims":[[)" + number + R"(],"é"],"x":null})";
        builder->add(kRank, span, i % 11 == 3 ? std::string() : arguments);
    }
    return builder->finish(run, span.end());
}

}  // namespace
}  // namespace shardscope

int main(int argc, char** argv) {
    using shardscope::test::writeSampleRecording;
    if (argc != 2) return 2;
    const std::string folder(argv[1]);
    auto done = writeSampleRecording(folder + "/cpu.sscope", {.steps = 4});
    if (done) done = writeSampleRecording(folder + "/gpu.sscope", {.steps = 4, .gpu = true});
    if (done) done = shardscope::writeImported(folder + "/imported.sscope");
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}

#include "tests/engine/gpu_rank/fake_gpu_test.h"

#include "storage/model/lanes.h"

#include <algorithm>
#include <filesystem>

namespace shardscope::cli {

FakeGpuTest::FakeGpuTest() {
    namespace fs = std::filesystem;
    // The module is looked for beside the rank's program.
    const fs::path folder = path("bin");
    fs::create_directories(folder);
    fs::copy_file(SHARDSCOPE_RANK, folder / "shardscope-rank");
    fs::copy_file(SHARDSCOPE_FAKE_MODULE, folder / "libshardscope_cuda.so");
    environment["SHARDSCOPE_RANK_PROGRAM"] = (folder / "shardscope-rank").string();
}

std::unique_ptr<Program> FakeGpuTest::record(const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "--device", "cuda", "--ranks",          "1",  "--layers",     "3", "--heads",   "2",
        "--hidden", "32",   "--context",        "32", "--batch",      "2", "--threads", "1",
        "--steps",  "8",    "--evaluate-every", "4",  "--accumulate", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return startRecord(all);
}

nlohmann::json FakeGpuTest::report() {
    const auto program = start({"report", output(), "--json"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    return nlohmann::json::parse(program->out());
}

std::vector<SpanEvent> FakeGpuTest::spans(std::uint32_t rank, LaneId lane) {
    const auto reader = storage::openRecording(output()).value();
    return reader->spans(RankId{rank}, lane, reader->summary().value().bounds).value();
}

std::vector<SpanEvent> FakeGpuTest::kernels(std::uint32_t rank) {
    return spans(rank, lanes::kStreams.at(0));
}

std::int32_t FakeGpuTest::lastStep(std::uint32_t rank) {
    std::int32_t last = -1;
    for (const SpanEvent& phase : spans(rank, lanes::kPhases.id))
        last = std::max(last, phase.step.value);
    return last;
}

}  // namespace shardscope::cli

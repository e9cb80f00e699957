// write_sample_recording FOLDER: cpu.sscope and gpu.sscope there, for tests that are no C++.
#include "tests/support/sample_recording.h"

#include <cstdio>

int main(int argc, char** argv) {
    using shardscope::test::writeSampleRecording;
    if (argc != 2) return 2;
    const std::string folder(argv[1]);
    auto done = writeSampleRecording(folder + "/cpu.sscope", {.steps = 4});
    if (done) done = writeSampleRecording(folder + "/gpu.sscope", {.steps = 4, .gpu = true});
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}

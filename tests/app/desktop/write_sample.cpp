// write_sample OUT.sscope [steps] [ranks] [unfinished] [gpu] [untraced] [shared] [unknown] [hosts]:
// a recording to look at pages with.
#include "tests/support/sample_recording.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

bool takeWord(std::string_view word, shardscope::test::SampleOptions& options) {
    if (word == "unfinished") options.finalise = false;
    if (word == "gpu") options.gpu = true;
    if (word == "untraced") options.gpuTraced = false;
    if (word == "shared") options.gpuShared = true;
    if (word == "unknown") options.gpuName = "NVIDIA Prototype 900";
    if (word == "hosts") options.ranksPerHost = 8;
    return word == "unfinished" || word == "gpu" || word == "untraced" || word == "shared" ||
           word == "unknown" || word == "hosts";
}

}  // namespace

int main(int argc, char** argv) {
    shardscope::test::SampleOptions options;
    int number = 0;
    bool understood = argc >= 2;
    for (int i = 2; i < argc; ++i) {
        if (takeWord(argv[i], options)) continue;
        const int value = std::atoi(argv[i]);
        understood = understood && value > 0 && number < 2;
        (number++ == 0 ? options.steps : options.ranks) = value;
    }
    if (!understood) {
        std::fprintf(stderr,
                     "write_sample OUT.sscope [steps] [ranks] [unfinished] [gpu] [untraced] "
                     "[shared] [unknown] [hosts]\n");
        return 2;
    }
    const auto written = shardscope::test::writeSampleRecording(argv[1], options);
    if (written) return 0;
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return shardscope::exitStatus(written.error());
}

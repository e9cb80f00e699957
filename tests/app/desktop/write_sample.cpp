// write_sample OUT.sscope [steps] [ranks] [unfinished]: a recording to look at pages with.
#include "tests/support/sample_recording.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "write_sample OUT.sscope [steps] [ranks] [unfinished]\n");
        return 2;
    }
    shardscope::test::SampleOptions options;
    if (argc > 2) options.steps = std::atoi(argv[2]);
    if (argc > 3) options.ranks = std::atoi(argv[3]);
    if (argc > 4) options.finalise = false;
    const auto written = shardscope::test::writeSampleRecording(argv[1], options);
    if (written) return 0;
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return shardscope::exitStatus(written.error());
}

// What every export writes is known again as such, and as nothing else: that is all --force
// replaces.
#include "storage/interchange/output_kind.h"

#include "storage/interchange/export.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <fstream>

namespace shardscope::interchange {
namespace {

using test::IsOk;

struct Kind {
    const char* name;
    Result<ExportAccount> (*write)(storage::RecordingReader&, const ExportOptions&);
    storage::Replaceable kind;
};

const Kind kKinds[] = {
    {"trace.json", interchange::findFormat("kineto")->write, kKinetoFile},
    {"trace.json.gz", interchange::findFormat("kineto")->write, kKinetoFile},
    {"trace.pftrace", interchange::findFormat("perfetto")->write, kPerfettoFile},
    {"trace.sqlite", interchange::findFormat("nsys-sqlite")->write, kNsysFile},
    {"memory.pickle", interchange::findFormat("memory-snapshot")->write, kSnapshotFile},
    {"stacks.folded", interchange::findFormat("folded")->write, kFoldedFile},
    {"profile.speedscope.json", interchange::findFormat("speedscope")->write, kSpeedscopeFile},
    {"rows.csv", interchange::findFormat("csv")->write, kCsvFile},
    {"part.sscope", interchange::findFormat("sscope")->write, storage::kRecording},
};

TEST(OutputKind, OfEachExportIsItsOwnOnly) {
    test::DrawnEvents events;
    events.spans = {test::drawnSpan(0, 0, 5), test::drawnSpan(0, 1, 3)};
    MemoryEvent block;
    block.address = 4096;
    block.size = {512};
    events.memory = {block};
    test::DrawnFolder drawn(events);
    auto options = drawn.options();
    const std::string folder = drawn.file("");
    for (const Kind& each : kKinds) {
        options.output = folder + each.name;
        options.view = "operators";
        options.overwrite = false;
        const auto written = each.write(drawn.reader(), options);
        ASSERT_THAT(written, IsOk()) << each.name;
        options.overwrite = true;
        EXPECT_THAT(each.write(drawn.reader(), options), IsOk()) << each.name << ", once more";
    }
    std::ofstream(folder + "source.cpp") << "#include <cstdio>\nint main() { std::puts(\"\"); }\n";
    std::ofstream(folder + "thesis.txt") << "Years of work, in 300 pages\n";
    for (const Kind& each : kKinds) {
        for (const Kind& other : kKinds) {
            const bool same = each.kind.isOne == other.kind.isOne;
            EXPECT_EQ(each.kind.isOne(folder + other.name), same)
                << other.name << " as " << each.kind.what;
        }
        EXPECT_FALSE(each.kind.isOne(folder + "source.cpp")) << each.kind.what;
        EXPECT_FALSE(each.kind.isOne(folder + "thesis.txt")) << each.kind.what;
    }
}

}  // namespace
}  // namespace shardscope::interchange

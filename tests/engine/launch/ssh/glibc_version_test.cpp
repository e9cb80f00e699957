#include "engine/launch/process.h"
#include "engine/launch/ssh/needed_libraries.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>

#include <fstream>
#include <sstream>

namespace shardscope::launch {
namespace {

TEST(GlibcVersion, IsReadFromWhatHostsSay) {
    EXPECT_EQ(parseGlibc("glibc 2.36"), (GlibcVersion{2, 36}));
    EXPECT_EQ(parseGlibc("ldd (Debian GLIBC 2.36-9+deb12u9) 2.36"), (GlibcVersion{2, 36}));
    EXPECT_EQ(parseGlibc("ldd (GNU libc) 2.17"), (GlibcVersion{2, 17}));
    EXPECT_EQ(parseGlibc("musl libc (x86_64)"), GlibcVersion{});
    EXPECT_EQ(parseGlibc("sh: getconf: not found"), GlibcVersion{});
    EXPECT_EQ(parseGlibc(""), GlibcVersion{});
}

TEST(GlibcVersion, IsOrderedByNumbersNotByLetters) {
    EXPECT_LT((GlibcVersion{2, 9}), (GlibcVersion{2, 36}));
}

TEST(GlibcVersion, NeededByAProgramIsOneThatRunsIt) {
    const auto needed = neededGlibc(ownProgram());
    ASSERT_THAT(needed, test::IsOk());
    const auto ours = parseGlibc(std::string("glibc ") + gnu_get_libc_version());
    EXPECT_GE(*needed, (GlibcVersion{2, 2}));
    EXPECT_LE(*needed, ours);
}

TEST(GlibcVersion, OfAScriptIsNone) {
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("script")) << "#!/bin/sh\n";
    const auto needed = neededGlibc(folder.file("script"));
    ASSERT_THAT(needed, test::IsOk());
    EXPECT_EQ(*needed, GlibcVersion{});
    EXPECT_THAT(neededGlibc(folder.file("none")), test::FailsWith("cannot be read"));
}

TEST(GlibcVersion, OfAProgramThatWasCutOffIsFoundOrNoneAndNoCrash) {
    std::ostringstream whole;
    whole << std::ifstream(ownProgram(), std::ios::binary).rdbuf();
    const test::TemporaryFolder folder;
    for (std::size_t part = 0; part < 20; ++part) {
        std::ofstream(folder.file("cut"), std::ios::binary)
            << whole.str().substr(0, part * whole.str().size() / 20);
        const auto needed = neededGlibc(folder.file("cut"));
        ASSERT_THAT(needed, test::IsOk());
        EXPECT_LE(*needed, *neededGlibc(ownProgram()));
    }
}

}  // namespace
}  // namespace shardscope::launch

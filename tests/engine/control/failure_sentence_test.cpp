#include "engine/control/failure_sentence.h"

#include <gmock/gmock.h>

#include <new>
#include <stdexcept>
#include <thread>

namespace shardscope::control {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FailureSentence, IsWithoutTheStackThatLibTorchAppends) {
    const std::runtime_error torch(
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)\n"
        "Exception raised from meta at LinearAlgebra.cpp:209 (most recent call first):\n"
        "frame #0: c10::Error::Error() + 0x80 (0x7f in libc10.so)\nframe #1: ...");
    EXPECT_EQ(sentenceOf(torch), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
    EXPECT_EQ(sentenceOf(std::runtime_error("plain words")), "plain words");
}

TEST(FailureSentence, OfNoMemorySaysWhatToDo) {
    EXPECT_THAT(sentenceOf(std::bad_alloc()), HasSubstr("lower --batch"));
}

TEST(FailureSentenceDeathTest, IsWhatAnUncaughtExceptionEndsWithOnAnyThread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            endWithSentence("a-rank", 5);
            std::thread([] { throw std::bad_alloc(); }).join();
        },
        testing::ExitedWithCode(5), "^a-rank: out of memory.*ulimit -v");
}

}  // namespace
}  // namespace shardscope::control

// How functions on stacks read.
#include "storage/model/frame_text.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

TEST(FrameText, LeavesOutWherePackagesLie) {
    EXPECT_EQ(frameText("/venv/lib/python3.11/site-packages/torch/nn/linear.py", 134, "forward"),
              "torch/nn/linear.py(134): forward");
    EXPECT_EQ(frameText("/usr/lib/python3/dist-packages/a.py", 1, "b"), "a.py(1): b");
    EXPECT_EQ(frameText("/home/me/train.py", 7, "<module>"), "/home/me/train.py(7): <module>");
    EXPECT_EQ(frameText("", 0, "(outer frames are left out)"), "(outer frames are left out)");
}

}  // namespace
}  // namespace shardscope

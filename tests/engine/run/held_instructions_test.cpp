#include "engine/run/config/machine_figure.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace shardscope::run {
namespace {

using testing::HasSubstr;

TEST(HeldInstructions, AreWhatTheEnvironmentSays) {
    ::unsetenv("ONEDNN_MAX_CPU_ISA");
    const std::string free = heldInstructions();
    ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    EXPECT_NE(heldInstructions(), free);
    EXPECT_THAT(heldInstructions(), HasSubstr("ONEDNN_MAX_CPU_ISA=AVX2"));
    ::setenv("ONEDNN_MAX_CPU_ISA", "", 1);
    EXPECT_EQ(heldInstructions(), free) << "holds to nothing";
    ::unsetenv("ONEDNN_MAX_CPU_ISA");
}

}  // namespace
}  // namespace shardscope::run

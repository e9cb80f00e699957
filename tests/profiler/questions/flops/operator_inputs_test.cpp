// Inputs of operators in the words of recordings of ours and of PyTorch's profiler.
#include "profiler/questions/flops/operator_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::questions {
namespace {

using analysis::flopsOf;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(OperatorInputs, AreTheSameInBothWords) {
    const auto ours =
        operatorInputs(R"({"shapes":[[2,3,9,7],[4,3,3,3],[4]],"dtypes":["Float","Float","Float"],)"
                       R"("lists":[[2,2],[1,1],[1,1],[0],[0,0],[1]]})");
    const auto kineto = operatorInputs(
        R"({"Input Dims":[[2,3,9,7],[4,3,3,3],[4],[],[],[],[],[],[]],)"
        R"("Input type":["float","float","float","ScalarList","","","Scalar","",""],)"
        R"("Concrete Inputs":["","","","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1"]})");
    EXPECT_EQ(ours.lists, kineto.lists);
    const auto one = flopsOf("aten::convolution", ours),
               other = flopsOf("aten::convolution", kineto);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one->all, 2.0 * 2 * 20 * 108);
    EXPECT_EQ(one->all, other->all);
    EXPECT_EQ(one->type, other->type);
}

TEST(OperatorInputs, LeaveOutWhatIsNoNumber) {
    EXPECT_THAT(operatorInputs(R"({"Input Dims":[[2]],"Concrete Inputs":["","None","[1., 2]","nan",
                                   "[True, False]", 3]})")
                    .lists,
                ElementsAre(ElementsAre(1, 0)));
    EXPECT_THAT(operatorInputs(R"({"shapes":[["a"],[2],3]})").shapes,
                ElementsAre(IsEmpty(), ElementsAre(2), IsEmpty()));
    for (const char* nothing : {"", "[", "[]", "7", R"({"shapes":7})", "{}"})
        EXPECT_THAT(operatorInputs(nothing).shapes, IsEmpty()) << nothing;
}

}  // namespace
}  // namespace shardscope::questions

#include "storage/interchange/nsys/arguments.h"

#include <gtest/gtest.h>

namespace shardscope::interchange::nsys {
namespace {

struct Split {
    std::string name, arguments;
};
Split split(std::string_view text) {
    ArgumentWriter writer;
    Split found;
    found.name = splitEmitted(text, writer);
    found.arguments = writer.done();
    return found;
}

/// The text that a split one becomes again.
std::string joined(const Split& split) {
    std::vector<Member> members;
    TextFlags flags;
    const char* at = split.arguments.data();
    if (!split.arguments.empty()) {
        EXPECT_NE(readMembers(at, at + split.arguments.size(), members, flags), nullptr);
    }
    return joinEmitted(split.name, members);
}

TEST(EmittedText, SplitsWhatPyTorchWrites) {
    const Split view = split("aten::view, op_id = 320768");
    EXPECT_EQ(view.name, "aten::view");
    EXPECT_EQ(view.arguments, R"({"op_id":320768})");
    const Split full =
        split("aten::mm, seq = 17, op_id = 5, sizes = [[2, 3], []], input_op_ids = [(1,0), (2,0)]");
    EXPECT_EQ(full.name, "aten::mm");
    EXPECT_EQ(full.arguments,
              R"({"seq":17,"op_id":5,"sizes":"[[2, 3], []]","input_op_ids":"[(1,0), (2,0)]"})");
}

TEST(EmittedText, LeavesOtherTextsWhole) {
    for (const char* text :
         {"", "step 3", "a, b = c", ", op_id =", "x, op_id = 007", "x, op_id = 1, op_id = 2",
          "x, op_id = ", "x, seq = 12345678901234567890", "x, op_id = 3 "}) {
        EXPECT_EQ(split(text).name, text);
        EXPECT_EQ(split(text).arguments, "") << text;
    }
}

TEST(EmittedText, EveryTextComesBack) {
    for (const char* text :
         {"aten::view, op_id = 320768", ", op_id = 4", "a, b, seq = -1, sizes = ", "x, sizes = , y",
          "aten::add, op_id = 3, seq = 9", "x, sizes = \"q\", op_id = 2", "plain"})
        EXPECT_EQ(joined(split(text)), text);
}

}  // namespace
}  // namespace shardscope::interchange::nsys

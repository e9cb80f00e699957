// Stacks of two runs as one tree: by path, each with its time a step in either.
#include "profiler/analysis/steps/call_tree.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace shardscope::analysis {
namespace {

using Stack = std::initializer_list<std::string_view>;

void add(CallTree& tree, Stack stack, std::int64_t self) {
    CallTree::Node node = CallTree::kRoot;
    for (const std::string_view frame : stack) node = tree.child(node, frame);
    tree.add(node, Duration{self}, 1);
}

CallTree before() {
    CallTree tree;
    add(tree, {"forward", "linear", "mm"}, 60);
    add(tree, {"forward", "linear"}, 20);
    add(tree, {"backward", "copy"}, 20);
    tree.addUp();
    return tree;
}

CallTree after() {
    CallTree tree;
    add(tree, {"backward", "mm"}, 10);
    add(tree, {"forward", "linear", "mm"}, 45);
    tree.addUp();
    return tree;
}

CallDifference::Times timesOf(const CallDifference& difference, Stack stack) {
    CallTree tree = difference.tree;
    CallTree::Node node = CallTree::kRoot;
    for (const std::string_view frame : stack) node = tree.child(node, frame);
    EXPECT_EQ(tree.frames().size(), difference.tree.frames().size()) << "no such stack";
    return difference.times.at(node);
}

TEST(CallDifference, SameStacksAreToldApartByTimeAStep) {
    const CallDifference made = callDifference(before(), 10, after(), 5);
    const auto mm = timesOf(made, {"forward", "linear", "mm"});
    EXPECT_DOUBLE_EQ(mm.before, 6);
    EXPECT_DOUBLE_EQ(mm.after, 9);
    const auto linear = timesOf(made, {"forward", "linear"});
    EXPECT_DOUBLE_EQ(linear.before, 8);
    EXPECT_DOUBLE_EQ(linear.selfBefore, 2);
    EXPECT_DOUBLE_EQ(linear.after, 9);
    EXPECT_DOUBLE_EQ(linear.selfAfter, 0);
    EXPECT_DOUBLE_EQ(made.times[CallTree::kRoot].before, 10);
    EXPECT_DOUBLE_EQ(made.times[CallTree::kRoot].after, 11);
}

TEST(CallDifference, StacksOfOneRunAloneTakeNothingInTheOther) {
    const CallDifference made = callDifference(before(), 1, after(), 1);
    const auto copy = timesOf(made, {"backward", "copy"});
    EXPECT_DOUBLE_EQ(copy.before, 20);
    EXPECT_DOUBLE_EQ(copy.after, 0);
    const auto mm = timesOf(made, {"backward", "mm"});
    EXPECT_DOUBLE_EQ(mm.before, 0) << "one of the same name elsewhere is another stack";
    EXPECT_DOUBLE_EQ(mm.after, 10);
}

TEST(CallDifference, OwnTimesAddUpToEachWhole) {
    const CallDifference made = callDifference(before(), 3, after(), 7);
    double one = 0, other = 0;
    for (const auto& times : made.times) {
        one += times.selfBefore;
        other += times.selfAfter;
    }
    EXPECT_NEAR(one, made.times[CallTree::kRoot].before, 1e-12);
    EXPECT_NEAR(other, made.times[CallTree::kRoot].after, 1e-12);
}

TEST(CallDifference, OfNothingIsNothing) {
    const CallDifference made = callDifference(CallTree(), 1, CallTree(), 1);
    EXPECT_TRUE(made.tree.empty());
    EXPECT_DOUBLE_EQ(callDifference(before(), 1, CallTree(), 1).times[0].before, 100);
}

}  // namespace
}  // namespace shardscope::analysis

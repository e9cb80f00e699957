// Stacks as one tree: totals, the same inverted, callers and callees of a name.
#include "profiler/analysis/steps/call_tree.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace shardscope::analysis {
namespace {

void add(CallTree& tree, std::initializer_list<std::string_view> stack, std::int64_t self,
         std::int64_t count = 1) {
    CallTree::Node node = CallTree::kRoot;
    for (const std::string_view frame : stack) node = tree.child(node, frame);
    tree.add(node, Duration{self}, count);
}

CallTree sample() {
    CallTree tree;
    add(tree, {"forward"}, 0, 0);
    add(tree, {"forward", "linear"}, 10, 2);
    add(tree, {"forward", "linear", "mm"}, 60, 2);
    add(tree, {"backward", "linear_backward", "mm"}, 25, 1);
    add(tree, {"backward", "copy"}, 5);
    tree.addUp();
    return tree;
}

std::int64_t totalOf(const std::vector<CallEdge>& edges, const CallTree& tree,
                     std::string_view name) {
    for (const CallEdge& edge : edges)
        if (tree.names()[edge.name] == name) return edge.total.ns;
    return -1;
}

TEST(CallTree, TotalsAreOwnTimesWithInnerOnes) {
    const CallTree tree = sample();
    EXPECT_EQ(tree.total().ns, 100);
    EXPECT_EQ(tree.frames()[1].total.ns, 70);
    std::int64_t self = 0;
    for (const auto& frame : tree.frames()) self += frame.self.ns;
    EXPECT_EQ(self, tree.total().ns);
}

TEST(CallTree, InvertedKeepsTheTimeAndBeginsWithWhatRan) {
    const CallTree tree = sample(), turned = inverted(tree);
    EXPECT_EQ(turned.total().ns, tree.total().ns);
    const auto mm = *turned.find("mm");
    for (const auto& frame : turned.frames()) {
        if (frame.parent != CallTree::kRoot || frame.name != mm) continue;
        EXPECT_EQ(frame.total.ns, 85);
        EXPECT_EQ(frame.total, callsOf(tree, *tree.find("mm")).self);
    }
    EXPECT_FALSE(inverted(CallTree()).find("mm"));
}

TEST(CallTree, CallersAddUpToTheTotal) {
    const CallTree tree = sample();
    const CallsOf calls = callsOf(tree, *tree.find("mm"));
    EXPECT_EQ(calls.total.ns, 85);
    EXPECT_EQ(calls.count, 3);
    ASSERT_EQ(calls.callers.size(), 2u);
    EXPECT_EQ(tree.names()[calls.callers[0].name], "linear");
    EXPECT_EQ(calls.callers[0].total.ns, 60);
    EXPECT_TRUE(calls.callees.empty());
}

TEST(CallTree, CalleesAndOwnTimeAddUpToTheTotal) {
    const CallTree tree = sample();
    const CallsOf calls = callsOf(tree, *tree.find("linear"));
    EXPECT_EQ(calls.self.ns, 10);
    EXPECT_EQ(totalOf(calls.callees, tree, "mm"), 60);
    EXPECT_EQ(calls.total.ns, 70);
}

TEST(CallTree, ANameWithinItselfCountsOnce) {
    CallTree tree;
    add(tree, {"f"}, 1);
    add(tree, {"f", "f"}, 2);
    add(tree, {"f", "f", "g"}, 4);
    add(tree, {"f", "g", "f"}, 8);
    add(tree, {"f", "g"}, 16);
    tree.addUp();
    const CallsOf calls = callsOf(tree, *tree.find("f"));
    EXPECT_EQ(calls.total.ns, 31);
    EXPECT_EQ(calls.self.ns, 11);
    EXPECT_EQ(totalOf(calls.callees, tree, "g"), 20);
    ASSERT_EQ(calls.callers.size(), 1u);
    EXPECT_EQ(calls.callers[0].name, 0u);
}

TEST(CallTree, NamesThatAreNotThereAreNotFound) {
    EXPECT_FALSE(sample().find("conv"));
    EXPECT_TRUE(CallTree().empty());
}

}  // namespace
}  // namespace shardscope::analysis

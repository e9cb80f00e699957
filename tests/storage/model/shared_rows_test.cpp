#include "storage/model/shared_rows.h"

#include <gmock/gmock.h>

#include <span>
#include <vector>

namespace shardscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SharedRows, AreReadLikeAVector) {
    const SharedRows<int> rows{1, 2, 3}, none;
    EXPECT_THAT(rows, ElementsAre(1, 2, 3));
    EXPECT_EQ(rows[1], 2);
    EXPECT_EQ(rows.front() + rows.back(), 4);
    EXPECT_EQ(std::span<const int>(rows).size(), 3u);
    const std::vector<int>& vector = rows;
    EXPECT_EQ(&vector, &rows.all());
    EXPECT_THAT(none, IsEmpty());
}

TEST(SharedRows, AreSharedByCopiesUntilOneIsChanged) {
    SharedRows<int> rows{1, 2}, copy = rows;
    EXPECT_TRUE(copy.sharesWith(rows));
    copy.push_back(3);
    EXPECT_FALSE(copy.sharesWith(rows));
    EXPECT_THAT(rows, ElementsAre(1, 2));
    EXPECT_THAT(copy, ElementsAre(1, 2, 3));
    const int* before = rows.all().data();
    rows.own()[0] = 9;
    EXPECT_EQ(rows.all().data(), before) << "nothing else has them";
}

TEST(SharedRows, StaySharedWhereNothingIsLeftOut) {
    SharedRows<int> rows{1, 2, 3}, copy = rows;
    copy.eraseIf([](int each) { return each > 3; });
    EXPECT_TRUE(copy.sharesWith(rows));
    copy.eraseIf([](int each) { return each == 2; });
    EXPECT_THAT(copy, ElementsAre(1, 3));
    EXPECT_THAT(rows, ElementsAre(1, 2, 3));
}

TEST(SharedRows, AreEqualByWhatTheyHold) {
    SharedRows<int> rows{1, 2};
    const SharedRows<int> same{1, 2}, empty(std::vector<int>{}), none;
    EXPECT_EQ(rows, same);
    EXPECT_EQ(empty, none);
    rows.resize(1);
    EXPECT_NE(rows, same);
}

}  // namespace
}  // namespace shardscope

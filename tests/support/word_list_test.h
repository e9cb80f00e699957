// What holds for the words of every enumeration (storage/model/words.h).
//
//   using Mine = testing::Types<Phase, Cause>;
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, WordList, Mine);
#pragma once

#include "storage/model/words.h"
#include "tests/support/enumerators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace shardscope::test {

template <class Enum>
class WordList : public testing::Test {};
TYPED_TEST_SUITE_P(WordList);

TYPED_TEST_P(WordList, HoldsEveryEnumeratorOnce) {
    std::vector<TypeParam> listed(kAll<TypeParam>.begin(), kAll<TypeParam>.end());
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, enumerators<TypeParam>());
}

TYPED_TEST_P(WordList, HasWordsThatTellThemApart) {
    std::set<std::string> words;
    for (const TypeParam value : kAll<TypeParam>) {
        const std::string word = toWord(value);
        EXPECT_FALSE(word.empty());
        EXPECT_TRUE(words.insert(word).second) << word;
        EXPECT_EQ(fromWord<TypeParam>(word), value) << word;
    }
    EXPECT_FALSE(fromWord<TypeParam>("no such word"));
    EXPECT_FALSE(fromWord<TypeParam>(""));
}

TYPED_TEST_P(WordList, KnowsWhatIsNoEnumerator) {
    const auto known = enumerators<TypeParam>();
    for (int number = -1; number < 256; ++number) {
        const auto value = static_cast<TypeParam>(number);
        const bool there =
            number >= 0 && std::find(known.begin(), known.end(), value) != known.end();
        EXPECT_EQ(isValue<TypeParam>(number), there) << number;
        if (number < 0) continue;
        EXPECT_EQ(isOne(value), there) << number;
        EXPECT_EQ(entryOf(value) != nullptr, there) << number;
        if (!there) {
            EXPECT_STREQ(toWord(value), "unknown") << number;
        }
    }
}

REGISTER_TYPED_TEST_SUITE_P(WordList, HoldsEveryEnumeratorOnce, HasWordsThatTellThemApart,
                            KnowsWhatIsNoEnumerator);

}  // namespace shardscope::test

// The one list of formats, as who offers them all goes over it.
#include "storage/interchange/formats.h"

#include "storage/model/rank_facts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace shardscope::interchange {
namespace {

TEST(Formats, WhatIsWrittenSaysWhatForAndHasAnEndingOfItsOwn) {
    std::set<std::string> endings;
    for (const Format& format : formats()) {
        if (format.write == nullptr) continue;
        EXPECT_STRNE(format.writes, "") << format.name;
        EXPECT_EQ(format.ending[0], '.') << format.name;
        EXPECT_TRUE(endings.insert(format.ending).second) << format.ending;
    }
}

TEST(Formats, AFileIsReadByTheEndingThatItIsWrittenWith) {
    for (const Format& format : formats()) {
        if (format.write == nullptr || format.endings.empty()) continue;
        const std::set<std::string> read(format.endings.begin(), format.endings.end());
        EXPECT_TRUE(read.contains(format.ending)) << format.name;
    }
}

TEST(Formats, TheViewsOfCsvAreThoseOfTheHelp) {
    std::string names;
    for (const FormatView& view : findFormat("csv")->views) {
        names += (names.empty() ? "" : ", ") + std::string(view.name);
        EXPECT_STRNE(view.rows, "");
    }
    EXPECT_EQ(names, csvViews());
}

TEST(Formats, OnlyKinetoMakesAFolderAndOnlyOfSeveralRanks) {
    RecordingSummary summary;
    for (std::uint32_t rank : {0u, 1u}) {
        RankFacts facts;
        facts.rank = {rank};
        summary.ranks.push_back(facts);
    }
    for (const Format& format : formats())
        EXPECT_EQ(writesFolder(format, summary, {}), std::string(format.name) == "kineto");
    const Format& kineto = *findFormat("kineto");
    EXPECT_FALSE(writesFolder(kineto, summary, {RankId{1}}));
    EXPECT_TRUE(writesFolder(kineto, summary, {RankId{0}, RankId{1}}));
    EXPECT_FALSE(writesFolder(kineto, summary, {RankId{0}, RankId{7}}));
}

}  // namespace
}  // namespace shardscope::interchange

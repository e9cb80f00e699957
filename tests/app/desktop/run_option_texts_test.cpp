// Sentences about options in the words of the New run form.
#include "app/desktop/pages/run_fields/run_option_texts.h"

#include <gtest/gtest.h>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

TEST(RunOptionTexts, SentencesAreSaidInTheFormsWords) {
    EXPECT_EQ(inFormWords(u"choose {model.hidden} as a multiple of {model.heads}"_s),
              u"choose “Hidden size” as a multiple of “Heads”."_s);
    EXPECT_EQ(inFormWords(u"choose --hidden as a multiple of --heads"_s),
              u"choose “Hidden size” as a multiple of “Heads”."_s)
        << "those of the command line too";
    EXPECT_EQ(inFormWords(u"use --checkpoint-every 3, not --checkpointed"_s),
              u"use “Checkpoint every” 3, not --checkpointed."_s)
        << "whole words only";
}

TEST(RunOptionTexts, HelpIsASentence) {
    for (const run::RunOption& option : run::runOptions()) {
        EXPECT_TRUE(helpOf(option).endsWith(u'.')) << option.key;
        EXPECT_TRUE(helpOf(option)[0].isUpper() || !helpOf(option)[0].isLetter()) << option.key;
    }
    EXPECT_EQ(labelOf(*run::findRunOption("bucket_mb")), u"Bucket size, MB"_s);
    EXPECT_EQ(labelOf(*run::findRunOption("seed")), u"Seed"_s);
}

}  // namespace
}  // namespace shardscope::desktop

#include "engine/worker/instruction_sets.h"

#include "engine/worker/event_names.h"
#include "tests/engine/worker/kept_session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace shardscope::worker {
namespace {

/// Puts the variable back.
class Capability {
public:
    explicit Capability(const char* value) {
        if (const char* old = std::getenv("ATEN_CPU_CAPABILITY")) m_old = old;
        ::setenv("ATEN_CPU_CAPABILITY", value, 1);
    }
    ~Capability() {
        if (m_old)
            ::setenv("ATEN_CPU_CAPABILITY", m_old->c_str(), 1);
        else
            ::unsetenv("ATEN_CPU_CAPABILITY");
    }
    Capability(const Capability&) = delete;
    Capability& operator=(const Capability&) = delete;

private:
    std::optional<std::string> m_old;
};

TEST(InstructionSets, ALevelRunsWhereTheProcessorHasIt) {
    EXPECT_TRUE(canRun("avx512", {true, true}));
    EXPECT_FALSE(canRun("avx512", {true, false}));
    EXPECT_TRUE(canRun("avx2", {true, false}));
    EXPECT_FALSE(canRun("avx2", {}));
    EXPECT_TRUE(canRun("default", {}));
    EXPECT_TRUE(canRun("a word that LibTorch warns of itself", {}));
}

TEST(InstructionSets, WhatIsImpossibleHereLeavesTheEnvironmentAloud) {
    const Capability wanted("avx512");
    const bool possible = instructionSetsHere().avx512;
    const std::string sentence = dropImpossibleCapability();
    EXPECT_EQ(sentence.empty(), possible) << sentence;
    EXPECT_EQ(std::getenv("ATEN_CPU_CAPABILITY") != nullptr, possible);
    if (!possible) {
        EXPECT_NE(sentence.find("ATEN_CPU_CAPABILITY=avx512"), std::string::npos);
    }
}

TEST(InstructionSets, WhatIsPossibleStays) {
    const Capability wanted("default");
    EXPECT_EQ(dropImpossibleCapability(), "");
    EXPECT_STREQ(std::getenv("ATEN_CPU_CAPABILITY"), "default");
}

TEST(EventNames, AreTheWordsOfWhatTheyName) {
    KeptSession kept;
    const EventNames names(kept.session);
    for (const Phase phase : kAll<Phase>)
        EXPECT_EQ(kept.session.text(names.of(phase)), toWord(phase));
    for (const CollectiveOp operation : kAll<CollectiveOp>)
        EXPECT_EQ(kept.session.text(names.of(operation)), toWord(operation));
    for (const Stretch stretch : kAll<Stretch>)
        EXPECT_EQ(kept.session.text(names.of(stretch)), toWord(stretch));
    EXPECT_EQ(kept.session.text(names.ofStep()), "step");
}

TEST(EventNames, CausesAreArgumentsInJson) {
    KeptSession kept;
    const EventNames names(kept.session);
    EXPECT_EQ(names.arguments(Cause::kNone), kEmptyString);
    EXPECT_EQ(kept.session.text(names.arguments(Cause::kStart)), R"({"cause":"start"})");
}

}  // namespace
}  // namespace shardscope::worker

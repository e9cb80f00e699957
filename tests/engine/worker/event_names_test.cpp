#include "engine/worker/event_names.h"

#include "tests/engine/worker/kept_session.h"

#include <gtest/gtest.h>

namespace shardscope::worker {
namespace {

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

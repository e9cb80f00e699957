#include "app/cli/kept_text.h"

#include "storage/recording/beside/kept_results.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace shardscope::cli {
namespace {

class KeptText : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(test::writeSampleRecording(m_place.path, {.steps = 2})); }

    Result<std::string> ask(const std::string& question, std::chrono::milliseconds takes,
                            bool lasting = true, bool fresh = false) {
        return keptText(m_place, question, fresh, [&]() -> Result<Computed> {
            std::this_thread::sleep_for(takes);
            return Computed{std::to_string(++m_computed), lasting};
        });
    }
    [[nodiscard]] bool isKept() const {
        return std::filesystem::exists(storage::KeptResults::pathOf(m_place.path));
    }

    static constexpr std::chrono::milliseconds kLong{600}, kShort{0};
    test::TemporaryFolder m_folder;
    RecordingPlace m_place{m_folder.file("run.sscope"), {}};
    int m_computed = 0;
};

TEST_F(KeptText, OfLongWorkIsSaidAgain) {
    EXPECT_EQ(ask("why", kLong), "1");
    EXPECT_EQ(ask("why", kLong), "1");
    EXPECT_EQ(ask("where", kShort), "2");
    EXPECT_EQ(ask("where", kShort), "3") << "what is done at once is not kept";
    EXPECT_EQ(ask("why", kLong), "1");
}

TEST_F(KeptText, IsComputedAnewWhereThatIsWanted) {
    EXPECT_EQ(ask("why", kLong, true, true), "1");
    EXPECT_FALSE(isKept());
    EXPECT_EQ(ask("why", kLong), "2");
    EXPECT_EQ(ask("why", kLong, true, true), "3");
    EXPECT_EQ(ask("why", kLong), "2");
}

TEST_F(KeptText, OfAnUnfinishedRecordingIsNotKept) {
    EXPECT_EQ(ask("why", kLong, false), "1");
    EXPECT_FALSE(isKept());
}

TEST_F(KeptText, IsNoErrorOfBefore) {
    const auto failing = keptText(m_place, "why", false, []() -> Result<Computed> {
        std::this_thread::sleep_for(kLong);
        return failure(ErrorCode::kUnreadable, "it cannot be read");
    });
    ASSERT_FALSE(failing);
    EXPECT_EQ(failing.error().message, "it cannot be read");
    EXPECT_FALSE(isKept());
    EXPECT_EQ(ask("why", kLong), "1");
}

}  // namespace
}  // namespace shardscope::cli

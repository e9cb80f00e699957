// Collectives of a sample recording, read by a reader of one's own.
#pragma once

#include "storage/recording/read/recording_reader.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::test {

class CollectiveReading : public testing::Test {
protected:
    static constexpr TimeRange kAlways{{0}, {std::int64_t{1} << 60}};

    [[nodiscard]] std::unique_ptr<storage::RecordingReader> open() const {
        auto reader = storage::openRecording(m_path);
        EXPECT_TRUE(reader);
        return std::move(*reader);
    }
    static std::vector<CollectiveEvent> collectives(storage::RecordingReader& reader,
                                                    std::uint32_t rank, TimeRange range) {
        auto events = reader.rankEvents({rank}, range);
        EXPECT_TRUE(events);
        return std::move(events->collectives);
    }

    TemporaryFolder m_folder;
    const std::string m_path = m_folder.file("run.sscope");
};

}  // namespace shardscope::test

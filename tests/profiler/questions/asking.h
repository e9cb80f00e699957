// A sample recording to ask questions of.
#pragma once

#include "profiler/questions/question.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace shardscope::questions {

class Questions : public testing::Test {
protected:
    void record(const test::SampleOptions& options = {}) {
        ASSERT_TRUE(test::writeSampleRecording(m_path, options));
        auto reader = storage::openRecording(m_path);
        ASSERT_TRUE(reader);
        m_reader = std::move(*reader);
        m_summary = *m_reader->summary();
    }
    Answer ask(const char* question, Mode mode = Mode::kExact, Selection selection = {}) {
        const auto selected = selection.of(m_summary);
        EXPECT_TRUE(selected);
        auto answer = findQuestion(question)->ask({*m_reader, *selected, selection, mode});
        EXPECT_TRUE(answer) << answer.error().message;
        return std::move(*answer);
    }
    static std::int64_t whole(const Table& table, std::size_t row, const char* column) {
        return *table.rows.at(row).at(table.columnAt(column)).integer();
    }
    static double number(const Table& table, std::size_t row, const char* column) {
        const Cell& cell = table.rows.at(row).at(table.columnAt(column));
        const auto* real = cell.real();
        return real != nullptr ? *real : static_cast<double>(*cell.integer());
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("sample.sscope");
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingSummary m_summary;
};

}  // namespace shardscope::questions

// Rows of CSV files, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::test {

using CsvRows = std::vector<std::vector<std::string>>;

/// RFC 4180, read by the letter; what is not fails the test.
inline CsvRows parseCsv(const std::string& text) {
    CsvRows rows;
    std::vector<std::string> row(1);
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c != '"') {
                row.back() += c;
            } else if (i + 1 < text.size() && text[i + 1] == '"') {
                row.back() += text[++i];
            } else {
                quoted = false;
            }
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            row.emplace_back();
        } else if (c == '\r') {
            EXPECT_EQ(text.at(++i), '\n');
            rows.push_back(std::exchange(row, std::vector<std::string>(1)));
        } else {
            EXPECT_NE(c, '\n') << "a bare line feed at " << i;
            row.back() += c;
        }
    }
    EXPECT_EQ(row, std::vector<std::string>(1)) << "the last line has its end";
    return rows;
}

}  // namespace shardscope::test

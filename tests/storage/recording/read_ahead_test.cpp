// Which pages of a file a table is found to lie in, so that they are read before they are asked
// for.
#include "storage/sqlite/read_ahead.h"

#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>

namespace shardscope::storage {
namespace {

constexpr int kRows = 5'000;

class ReadAheadTest : public testing::Test {
protected:
    void SetUp() override {
        auto connection = Connection::open(m_path, Connection::Mode::kCreate);
        ASSERT_TRUE(connection);
        // tables of a file grow beside each other
        ASSERT_TRUE(connection->execute(
            "CREATE TABLE plain (id INTEGER PRIMARY KEY, text TEXT UNIQUE);"
            "CREATE TABLE keyed (a INTEGER, b INTEGER, text TEXT, PRIMARY KEY (a, b)) "
            "WITHOUT ROWID;"
            "BEGIN"));
        for (int row = 0; row < kRows; ++row) {
            const std::string text = "'" + std::string(400, static_cast<char>('a' + row % 26)) +
                                     std::to_string(row) + "'";
            ASSERT_TRUE(connection->execute("INSERT INTO plain VALUES(NULL," + text + ");" +
                                            "INSERT INTO keyed VALUES(" + std::to_string(row) +
                                            ",1," + text + ")"));
        }
        ASSERT_TRUE(connection->execute("COMMIT"));
        m_place.pageBytes =
            static_cast<std::size_t>(connection->integer("PRAGMA page_size").value());
        m_pages = connection->integer("PRAGMA page_count").value();
        for (const char* name : {"plain", "keyed", "sqlite_autoindex_plain_1"})
            m_roots.push_back(connection
                                  ->integer("SELECT rootpage FROM sqlite_master WHERE name='" +
                                            std::string(name) + "'")
                                  .value());
        m_place.file = ::open(m_path.c_str(), O_RDONLY | O_CLOEXEC);
    }
    void TearDown() override { ::close(m_place.file); }

    [[nodiscard]] std::vector<std::int64_t> leavesAt(std::int64_t root) {
        TreePlace place = m_place;
        place.root = root;
        m_fetched.clear();
        return leavesOf(place,
                        [&](const auto& pages) { m_fetched.insert(pages.begin(), pages.end()); });
    }

    const test::TemporaryFolder m_folder;
    const std::string m_path = m_folder.file("rows.db");
    TreePlace m_place;
    std::int64_t m_pages = 0;
    std::vector<std::int64_t> m_roots;
    std::set<std::int64_t> m_fetched;
};

TEST_F(ReadAheadTest, TablesAndIndexesHaveAllPagesOfTheFileBetweenThem) {
    std::set<std::int64_t> all{1};  // the schema's
    for (const std::int64_t root : m_roots) {
        const auto leaves = leavesAt(root);
        EXPECT_GT(leaves.size(), std::size_t{kRows} * 400 / m_place.pageBytes);
        for (const std::int64_t leaf : leaves) EXPECT_TRUE(m_fetched.contains(leaf)) << leaf;
        for (const std::int64_t page : m_fetched) EXPECT_TRUE(all.insert(page).second) << page;
    }
    EXPECT_EQ(static_cast<std::int64_t>(all.size()), m_pages);
}

TEST_F(ReadAheadTest, WhatIsNoTreeHasNoLeavesBelowIt) {
    EXPECT_THAT(leavesAt(0), testing::IsEmpty());
    EXPECT_THAT(leavesAt(-7), testing::IsEmpty());
    // a root that is a leaf is its own; so is what cannot be read
    EXPECT_THAT(leavesAt(m_pages + 100), testing::ElementsAre(m_pages + 100));
}

}  // namespace
}  // namespace shardscope::storage

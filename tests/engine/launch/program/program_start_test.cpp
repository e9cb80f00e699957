#include "engine/launch/program/program_start.h"

#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace shardscope::launch {
namespace {

using testing::HasSubstr;

struct Wrong {
    std::string program;
    int status;
    std::string says;
};

class StartObstacleTest : public testing::Test {
protected:
    std::string file(const std::string& name, const std::string& text, bool executable) const {
        const std::string path = m_folder.file(name);
        std::ofstream(path) << text;
        using enum std::filesystem::perms;
        std::filesystem::permissions(path, executable ? owner_all : owner_read | owner_write);
        return path;
    }

    test::TemporaryFolder m_folder;
};

TEST_F(StartObstacleTest, WhatCanBeStartedHasNone) {
    EXPECT_FALSE(startObstacle("sh"));
    EXPECT_FALSE(startObstacle("/bin/sh"));
    for (const char* text :
         {"", "exit 3\n", "#!/bin/sh\n", "#! /bin/sh -e\nexit 3\n", "#!", "#!\n"})
        EXPECT_FALSE(startObstacle(file("script", text, true))) << text;
}

TEST_F(StartObstacleTest, SaysWhatAShellWouldAndWhatToDo) {
    const std::string plain = file("train.py", "", false);
    const std::string moved = file("moved", "#!/no/such/python -u\n", true);
    for (const Wrong& wrong :
         {Wrong{"no-such-program", 127, "need sh -c"},
          Wrong{"/no/such/program", 127, "there is no such program"},
          Wrong{"", 127, "'': there is no such program"},
          Wrong{m_folder.path(), 126, "is a folder"}, Wrong{"RANK=1", 127, "--env RANK=1"},
          Wrong{"python train.py", 127, "sh -c 'python train.py'"},
          Wrong{plain, 126, "python " + plain},
          Wrong{moved, 127, "names /no/such/python, which"}}) {
        const auto obstacle = startObstacle(wrong.program);
        ASSERT_TRUE(obstacle) << wrong.program;
        EXPECT_EQ(obstacle->status, wrong.status) << wrong.program;
        EXPECT_THAT(obstacle->message, HasSubstr(wrong.says));
    }
}

}  // namespace
}  // namespace shardscope::launch

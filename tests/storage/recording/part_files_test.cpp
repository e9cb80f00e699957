#include "storage/recording/file/part_files.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;

/// The name that a process which has ended gave its part of `path`.
std::string partOfTheDead(const std::string& path, const char* kind) {
    const pid_t child = fork();
    if (child == 0) {
        std::ofstream(partName(path, kind)) << "unfinished";
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    const std::string mine = partName(path, kind);
    return mine.substr(0, mine.rfind('-') + 1) + std::to_string(child);
}

void touch(const std::string& path) {
    std::ofstream(path) << "x";
}

TEST(PartFiles, OfTheDeadAreRemovedWithTheirJournals) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    for (const char* kind : {"part", "new"}) {
        const std::string dead = partOfTheDead(path, kind);
        ASSERT_TRUE(fs::exists(dead)) << dead;
        const std::string others[] = {dead + "-wal",        dead + "-shm",       dead + "-journal",
                                      dead + ".new-host-1", dead + "-in",        dead + "-in-wal",
                                      dead + "-again1",     dead + "-again1-wal"};
        for (const std::string& other : others) touch(other);
        removeDeadParts(path);
        EXPECT_FALSE(fs::exists(dead));
        for (const std::string& other : others) EXPECT_FALSE(fs::exists(other)) << other;
    }
}

TEST(PartFiles, OfTheLivingOfOthersAndOfOtherHostsStay) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const std::string dead = partOfTheDead(path, "part");
    const std::string number = dead.substr(dead.rfind('-') + 1);
    const std::string kept[] = {path,
                                path + "-wal",
                                partName(path, "part"),
                                partOfTheDead(folder.file("other.sscope"), "part"),
                                path + ".part-another.host-" + number,
                                dead + "-77",  // of a host whose name begins like ours
                                path + ".part-",
                                path + ".part-" + number,
                                path + ".partly"};
    for (const std::string& file : kept) touch(file);
    removeDeadParts(path);
    EXPECT_FALSE(fs::exists(dead));
    for (const std::string& file : kept) EXPECT_TRUE(fs::exists(file)) << file;
}

TEST(PartFiles, AreNotNamedToWhoAskedForTheOutput) {
    EXPECT_EQ(withoutPart("disk full while writing /x/a.part-h-1-wal: free some space; what was "
                          "committed before stays readable",
                          "/x/a.part-h-1", "/x/a"),
              "disk full while writing /x/a-wal: free some space; no file was written");
    EXPECT_EQ(withoutPart("it is none", "/x/a.part-h-1", "/x/a"), "it is none");
}

}  // namespace
}  // namespace shardscope::storage

#include "engine/checkpoint/checkpoint.h"

#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <utility>

namespace shardscope::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kElements = 100;

std::vector<float> wholeOf(StateKind kind) {
    std::vector<float> values(kElements);
    std::iota(values.begin(), values.end(), 1000.0F * static_cast<float>(kind));
    return values;
}

class Checkpoints : public testing::Test {
protected:
    [[nodiscard]] std::string folder() const { return m_folder.path(); }

    static Manifest manifest(std::int32_t nextStep, int ranks) {
        Manifest manifest;
        manifest.nextStep = nextStep;
        manifest.updates = nextStep - 1;
        manifest.lossScale = 512;
        manifest.finiteSteps = 3;
        manifest.ranks = ranks;
        manifest.parameters["w"] = {10, 10};
        return manifest;
    }

    /// One rank after the other, each a run of every kind.
    void writeRanks(std::int32_t nextStep, int ranks) const {
        for (int rank = 0; rank < ranks; ++rank) {
            const std::int64_t begin = kElements * rank / ranks;
            const std::int64_t end = kElements * (rank + 1) / ranks;
            std::vector<std::vector<float>> kept;
            std::vector<checkpoint::Run> runs;
            for (const StateKind kind : kAll<StateKind>) kept.push_back(wholeOf(kind));
            for (const StateKind kind : kAll<StateKind>)
                runs.push_back({kind, "w", begin,
                                std::span(kept[static_cast<std::size_t>(kind)])
                                    .subspan(static_cast<std::size_t>(begin),
                                             static_cast<std::size_t>(end - begin))});
            ASSERT_TRUE(writeRank(folder(), nextStep, rank, runs));
        }
    }

    std::string save(std::int32_t nextStep, int ranks, std::int32_t keep = 2) const {
        auto partial = prepare(folder(), nextStep);
        EXPECT_TRUE(partial) << partial.error().message;
        if (!partial) return {};
        writeRanks(nextStep, ranks);
        const auto path = commit(std::move(*partial), manifest(nextStep, ranks), keep);
        EXPECT_TRUE(path);
        return path ? *path : std::string();
    }

    /// A run that is killed before the manifest.
    void killed(std::int32_t nextStep) const {
        const pid_t run = ::fork();
        if (run == 0) {
            const auto partial = prepare(folder(), nextStep);
            if (partial) writeRanks(nextStep, 1);
            ::_exit(partial ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(run, &status, 0), run);
        ASSERT_EQ(status, 0);
        ASSERT_TRUE(fs::exists(partialOf(nextStep) + "/rank-00000.safetensors"));
    }

    [[nodiscard]] std::string partialOf(std::int32_t nextStep) const {
        return folder() + "/partial-step-" + fmt::format("{:010}", nextStep);
    }
    void makeFile(const std::string& name, const std::string& text = "mine") const {
        fs::create_directories(fs::path(folder() + "/" + name).parent_path());
        std::ofstream(folder() + "/" + name) << text;
    }
    [[nodiscard]] bool has(const std::string& name) const {
        return fs::exists(fs::symlink_status(folder() + "/" + name));
    }

private:
    test::TemporaryFolder m_folder;
};

TEST_F(Checkpoints, AreReadInAnyCut) {
    std::mt19937 random(3);
    for (const int ranks : {1, 2, 3, 7}) {
        const auto opened = Checkpoint::open(save(ranks, ranks));
        ASSERT_TRUE(opened) << opened.error().message;
        for (int i = 0; i < 200; ++i) {
            const auto begin = static_cast<std::int64_t>(random() % kElements);
            const auto count = static_cast<std::size_t>(
                random() % static_cast<std::uint32_t>(kElements - begin + 1));
            const StateKind kind = kAll<StateKind>[random() % 3];
            std::vector<float> out(count);
            ASSERT_TRUE(opened->read(kind, "w", begin, out));
            const auto whole = wholeOf(kind);
            EXPECT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + begin));
        }
    }
}

TEST_F(Checkpoints, KeepWhatIsBesidesTensors) {
    Manifest written = manifest(5, 1);
    written.config.model.heads = 3;
    auto partial = prepare(folder(), 5);
    ASSERT_TRUE(partial);
    writeRanks(5, 1);
    ASSERT_TRUE(commit(std::move(*partial), written, 1));
    const Manifest read = Checkpoint::open(folder()).value().manifest();
    EXPECT_EQ(read.nextStep, 5);
    EXPECT_EQ(read.updates, 4);
    EXPECT_EQ(read.lossScale, 512);
    EXPECT_EQ(read.finiteSteps, 3);
    EXPECT_EQ(read.config, written.config);
    EXPECT_EQ(read.parameters, written.parameters);
}

TEST_F(Checkpoints, TheNewestWholeOneIsTakenAndOldOnesGo) {
    save(10, 2);
    save(20, 2);
    save(30, 2);
    EXPECT_FALSE(fs::exists(folder() + "/step-0000000010"));
    EXPECT_TRUE(fs::exists(folder() + "/step-0000000020"));
    killed(40);
    EXPECT_EQ(Checkpoint::open(folder()).value().manifest().nextStep, 30);
    // The next one removes what was left behind.
    save(50, 1);
    EXPECT_FALSE(fs::exists(folder() + "/partial-step-0000000040"));
    EXPECT_EQ(Checkpoint::open(folder()).value().manifest().nextStep, 50);
}

TEST_F(Checkpoints, WhatIsUnfinishedIsNotCalledAStep) {
    save(10, 1);
    const auto partial = prepare(folder(), 20);
    ASSERT_TRUE(partial);
    writeRanks(20, 1);
    std::vector<std::string> steps;
    for (const auto& entry : fs::directory_iterator(folder()))
        if (const auto name = entry.path().filename().string(); name.starts_with("step-"))
            steps.push_back(name);
    EXPECT_EQ(steps, std::vector<std::string>{"step-0000000010"});
    // What an earlier version left behind is no checkpoint either.
    fs::create_directory(folder() + "/step-0000000030.partial");
    EXPECT_EQ(Checkpoint::open(folder()).value().manifest().nextStep, 10);
}

TEST_F(Checkpoints, WhatADeadRunLeftIsRemovedAtTheStartToo) {
    killed(40);
    EXPECT_EQ(tryFolder(folder()).value(), "");
    EXPECT_TRUE(fs::is_empty(folder()));
    // Killed while the same step's was written, and begun anew.
    killed(50);
    EXPECT_EQ(Checkpoint::open(save(50, 2)).value().manifest().ranks, 2);
    EXPECT_FALSE(has("step-0000000050/writer.json"));
}

TEST_F(Checkpoints, WhatACutOffRemovalLeftIsRemoved) {
    const std::string whole = save(10, 2);
    fs::rename(whole, folder() + "/partial-old-step-0000000010");
    fs::remove(folder() + "/partial-old-step-0000000010/rank-00000.safetensors");
    EXPECT_EQ(tryFolder(folder()).value(), "");
    EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(Checkpoints, FoldersOfOthersStayAndAreNamed) {
    save(10, 1);
    const std::vector<std::string> others{
        "partial-step-mine/thesis.txt", "partial-step-0000000020/rank-00000.safetensors",
        "step-0000000030.partial/rank-00000.safetensors", "step-0000000001/notes.txt"};
    for (const std::string& other : others) makeFile(other);
    makeFile("step-0000000002/manifest.json", "{\"name\": \"a program of mine\"}");
    makeFile("partial-old-step-1/manifest.json", "{\"name\": \"a program of mine\"}");
    makeFile("partial-step-file");
    makeFile("elsewhere/precious.txt");
    fs::create_directory_symlink(folder() + "/elsewhere", folder() + "/partial-step-link");
    const std::string warning = tryFolder(folder()).value();
    for (const char* named : {"partial-step-mine", "partial-step-0000000020", "partial-old-step-1",
                              "partial-step-link", "partial-step-file", "1 more"})
        EXPECT_NE(warning.find(named), std::string::npos) << named << " in " << warning;
    save(40, 1, 1);
    save(50, 1, 1);
    EXPECT_FALSE(has("step-0000000010"));
    EXPECT_FALSE(has("step-0000000040"));
    for (const std::string& other : others) EXPECT_TRUE(has(other)) << other;
    for (const char* other : {"step-0000000002/manifest.json", "partial-old-step-1/manifest.json",
                              "partial-step-file", "partial-step-link", "elsewhere/precious.txt"})
        EXPECT_TRUE(has(other)) << other;
}

/// Of two runs that share a folder.
TEST_F(Checkpoints, WhatALivingRunWritesStaysAndItsStepIsRefused) {
    auto other = prepare(folder(), 20);
    ASSERT_TRUE(other);
    writeRanks(20, 1);
    EXPECT_EQ(tryFolder(folder()).value(), "");
    save(10, 1);
    EXPECT_TRUE(has("partial-step-0000000020/rank-00000.safetensors"));
    const auto refused = prepare(folder(), 20);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(fmt::format("process {} on ", ::getpid())),
              std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(commit(std::move(*other), manifest(20, 1), 2)) << "the refusal left it alone";
    EXPECT_TRUE(prepare(folder(), 20)) << "its writer is done with it";
}

/// By its process number on this host; of another host's nothing is known.
TEST_F(Checkpoints, AMarkWithoutALockIsTheProcess) {
    const pid_t dead = ::fork();
    if (dead == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
    std::array<char, 256> host{};
    ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
    const auto mark = [](const char* on, pid_t pid) {
        return fmt::format(
            R"({{"schema":"shardscope.writer/1","host":"{}","process":{},"locked":false}})", on,
            pid);
    };
    makeFile("partial-step-0000000010/writer.json", mark(host.data(), dead));
    makeFile("partial-step-0000000020/writer.json", mark(host.data(), ::getpid()));
    makeFile("partial-step-0000000030/writer.json", mark("another", dead));
    makeFile("partial-step-0000000040/writer.json", "{\"schema\": 1}");
    EXPECT_NE(tryFolder(folder()).value().find("0000000040"), std::string::npos);
    EXPECT_FALSE(has("partial-step-0000000010"));
    EXPECT_TRUE(has("partial-step-0000000020/writer.json"));
    EXPECT_TRUE(has("partial-step-0000000040/writer.json"));
    EXPECT_NE(
        prepare(folder(), 30).error().message.find(fmt::format("process {} on another", dead)),
        std::string::npos);
}

TEST_F(Checkpoints, ANameThatIsNeededIsClearedOfRankFilesOnly) {
    makeFile("partial-step-0000000010/rank-00000.safetensors");  // as earlier versions left it
    EXPECT_FALSE(save(10, 1).empty());
    makeFile("partial-step-0000000020/rank-00000.safetensors");
    makeFile("partial-step-0000000020/thesis.txt");
    makeFile("step-0000000030/thesis.txt");
    fs::create_directory_symlink(folder() + "/step-0000000010", partialOf(40));
    for (const int step : {20, 30, 40}) {
        const auto refused = prepare(folder(), step);
        ASSERT_FALSE(refused) << step;
        EXPECT_NE(refused.error().message.find("move it away"), std::string::npos)
            << refused.error().message;
    }
    EXPECT_TRUE(has("partial-step-0000000020/rank-00000.safetensors"));
    EXPECT_TRUE(has("partial-step-0000000020/thesis.txt"));
    EXPECT_TRUE(has("step-0000000030/thesis.txt"));
    EXPECT_TRUE(has("step-0000000010/manifest.json"));
}

TEST_F(Checkpoints, AFolderIsTriedBeforeItIsNeeded) {
    EXPECT_TRUE(tryFolder(folder() + "/new/deep"));
    EXPECT_TRUE(fs::is_empty(folder() + "/new/deep")) << "nothing is left of the trial";
    std::ofstream(folder() + "/file") << "x";
    for (const std::string& bad : {folder() + "/file/ck", std::string("/proc/ck")}) {
        const auto tried = tryFolder(bad);
        ASSERT_FALSE(tried.has_value()) << bad;
        EXPECT_EQ(tried.error().code, ErrorCode::kUsage);
        EXPECT_NE(tried.error().message.find(bad), std::string::npos);
        EXPECT_NE(tried.error().message.find("--checkpoint"), std::string::npos);
    }
}

TEST_F(Checkpoints, WhyAFolderCannotBeMadeIsTheFirstReason) {
    const auto made = prepare("/sys/ck", 10);
    ASSERT_FALSE(made.has_value());
    // Not that the folder within it is not there either.
    std::error_code why;
    fs::create_directories("/sys/ck", why);
    EXPECT_NE(made.error().message.find(why.message()), std::string::npos) << made.error().message;
}

TEST_F(Checkpoints, AnAbandonedOneLeavesNothing) {
    {
        const auto partial = prepare(folder(), 7);
        ASSERT_TRUE(partial);
        writeRanks(7, 2);
    }
    EXPECT_TRUE(fs::is_empty(folder()));
    EXPECT_NE(Checkpoint::open(folder()).error().message.find("holds no whole checkpoint"),
              std::string::npos);
    EXPECT_NE(Checkpoint::open(folder() + "/none").error().message.find("is no folder"),
              std::string::npos);
}

/// Flips every byte of every file in turn: either opening or reading says so, or nothing that
/// matters changed.
TEST_F(Checkpoints, DamageIsFound) {
    const std::string path = save(3, 2);
    std::mt19937 random(11);
    int found = 0;
    int rounds = 0;
    for (const auto& entry : fs::directory_iterator(path)) {
        const bool data = entry.path().extension() == ".safetensors";
        for (int i = 0; i < 150; ++i) {
            std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
            const auto at = static_cast<std::streamoff>(random() % fs::file_size(entry.path()));
            file.seekg(at);
            const char old = static_cast<char>(file.get());
            const char changed = static_cast<char>(old ^ (1 << random() % 8));
            file.seekp(at);
            file.put(changed);
            file.flush();
            bool said = false;
            const auto opened = Checkpoint::open(path);
            said = !opened;
            for (const StateKind kind : kAll<StateKind>) {
                if (said) break;
                std::vector<float> out(kElements);
                said = !opened->read(kind, "w", 0, out);
                if (!said) {
                    EXPECT_EQ(out, wholeOf(kind));
                }
            }
            if (data) {
                ++rounds;
                found += said ? 1 : 0;
            }
            file.seekp(at);
            file.put(old);
        }
    }
    EXPECT_EQ(found, rounds);  // headers and data are under checksums whole
}

TEST_F(Checkpoints, WhatIsMissingIsNamed) {
    const std::string path = save(3, 2);
    std::vector<float> out(10);
    const auto opened = Checkpoint::open(path);
    ASSERT_TRUE(opened);
    EXPECT_NE(opened->read(StateKind::kParameter, "v", 0, out).error().message.find("'v'"),
              std::string::npos);
    EXPECT_NE(opened->read(StateKind::kParameter, "w", 95, out).error().message.find("element 100"),
              std::string::npos);
    fs::remove(path + "/rank-00001.safetensors");
    EXPECT_NE(Checkpoint::open(path).error().message.find("rank-00001"), std::string::npos);
}

TEST_F(Checkpoints, AnotherModelIsNamedByWhatDiffers) {
    Manifest manifest;
    run::ModelConfig model = manifest.config.model;
    EXPECT_FALSE(mismatch(manifest, model));
    model.hidden = 768;
    EXPECT_NE(mismatch(manifest, model)->find("hidden 384 there, 768 here"), std::string::npos);
    model = manifest.config.model;
    model.ffn = run::FeedForward::kSwiglu;
    EXPECT_NE(mismatch(manifest, model)->find("gelu there, swiglu here"), std::string::npos);
}

/// As a rank of a host that does not share the folder finds it.
TEST_F(Checkpoints, AFolderOnAnotherHostIsSaid) {
    const auto written = writeRank(folder(), 3, 2, {});
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("rank 2 does not find "), std::string::npos);
    EXPECT_NE(written.error().message.find("that all of them share"), std::string::npos);
}

TEST_F(Checkpoints, AFolderThatCannotBeMadeIsSaid) {
    const auto done = prepare("/dev/null/here", 1);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("--checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace shardscope::checkpoint

// `shardscope record --resume` before any rank starts.
#include "engine/checkpoint/checkpoint.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <sys/inotify.h>

#include <array>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// How often a file is opened for reading from now on.
class Openings {
public:
    explicit Openings(const std::string& file) : m_inotify(::inotify_init1(IN_NONBLOCK)) {
        // With the closing between them two openings are never told as one.
        if (::inotify_add_watch(m_inotify.get(), file.c_str(), IN_OPEN | IN_CLOSE_NOWRITE) < 0)
            ADD_FAILURE() << "cannot watch " << file;
    }
    int count() {
        alignas(inotify_event) std::array<std::byte, 4096> buffer{};
        int opened = 0;
        for (;;) {
            const ssize_t bytes = ::read(m_inotify.get(), buffer.data(), buffer.size());
            if (bytes <= 0) return opened;
            for (ssize_t at = 0; at < bytes;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
                opened += (event->mask & IN_OPEN) != 0 ? 1 : 0;
                at += static_cast<ssize_t>(sizeof *event + event->len);
            }
        }
    }

private:
    launch::FileDescriptor m_inotify;
};

class Resume : public CliTest {
protected:
    Resume() {
        checkpoint::Manifest manifest;
        manifest.nextStep = 3;
        manifest.config.seed = 77;
        EXPECT_TRUE(checkpoint::prepare(path("ckpt"), 3));
        EXPECT_TRUE(checkpoint::writeRank(path("ckpt"), 3, 0, {}));
        auto whole = checkpoint::commit(path("ckpt"), manifest, 1);
        EXPECT_TRUE(whole) << whole.error().message;
        m_checkpoint = *whole;
    }
    [[nodiscard]] std::string runFile(const std::string& text) const {
        std::ofstream(path("run.toml")) << text;
        return path("run.toml");
    }

    std::string m_checkpoint;
};

TEST_F(Resume, TheCheckpointIsOpenedOnceAndItsRunGoesOn) {
    Openings openings(m_checkpoint + "/manifest.json");
    const auto program = startRecord({"--resume", path("ckpt")});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(openings.count(), 1);
    EXPECT_THAT(recorded().run.configJson,
                AllOf(HasSubstr("77"), HasSubstr(m_checkpoint), HasSubstr("\"steps\":5")));
}

TEST_F(Resume, ARunFileMayNameTheCheckpoint) {
    Openings openings(m_checkpoint + "/manifest.json");
    const auto program = startRecord({runFile("resume = \"" + path("ckpt") + "\"\n")});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(openings.count(), 1);
    EXPECT_THAT(recorded().run.configJson, HasSubstr(m_checkpoint));
}

TEST_F(Resume, TheFlagsCheckpointCountsNotTheRunFiles) {
    const auto program = startRecord({runFile("resume = \"nowhere\"\n"), "--resume", path("ckpt")});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(recorded().run.configJson, HasSubstr(m_checkpoint));
}

TEST_F(Resume, AnotherModelOrNoStepLeftIsUsage) {
    const auto other = startRecord({"--resume", path("ckpt"), "--hidden", "192"});
    EXPECT_EQ(other->wait(), 2);
    EXPECT_THAT(other->err(), HasSubstr("the checkpoint is of another model: hidden 384 there"));
    const auto done = startRecord({"--resume", path("ckpt"), "--steps", "3"});
    EXPECT_EQ(done->wait(), 2);
    EXPECT_THAT(done->err(), HasSubstr("has done all of its 3 steps; give more with --steps"));
    const auto both = startRecord({"--resume", path("ckpt"), "--weights", "w.safetensors"});
    EXPECT_EQ(both->wait(), 2);
    EXPECT_THAT(both->err(), HasSubstr("--resume brings its own weights"));
}

}  // namespace
}  // namespace shardscope::cli

// What the New run page says of the files that a run names.
#include "app/desktop/pages/newrun/run_sources.h"

#include "app/desktop/pages/overview/overview_model.h"
#include "engine/run/config/run_config.h"
#include "storage/model/host_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/run_files.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <filesystem>
#include <fstream>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;
using testing::IsEmpty;

class RunSourcesTest : public testing::Test {
protected:
    QString problemOf(const std::string& key) {
        const SourceFacts facts = lookAtSources(m_config);
        const auto found = facts.problems.find(key);
        return found != facts.problems.end() ? found->second : QString();
    }
    QString noteOf(const std::string& key) { return lookAtSources(m_config).notes[key]; }
    std::string write(const std::string& name, const std::string& text) {
        std::ofstream(m_folder.file(name)) << text;
        return m_folder.file(name);
    }

    test::TemporaryFolder m_folder;
    RunConfig m_config;
};

TEST_F(RunSourcesTest, NothingNamedIsNothingWrong) {
    EXPECT_THAT(lookAtSources(m_config).problems, IsEmpty());
    EXPECT_EQ(noteOf("data"), u"the project's own source tree"_s);
    m_config.data = "synthetic";
    EXPECT_THAT(lookAtSources(m_config).problems, IsEmpty());
    EXPECT_EQ(noteOf("data"), u"random tokens"_s);
}

TEST_F(RunSourcesTest, DataIsThereAndIsText) {
    m_config.data = m_folder.file("none.txt");
    EXPECT_TRUE(problemOf("data").contains(u"There is no"_s));
    m_config.data = write("empty.txt", "");
    EXPECT_TRUE(problemOf("data").contains(u"is empty"_s));
    m_config.data = write("binary", std::string("a\0b", 3));
    EXPECT_TRUE(problemOf("data").contains(u"is binary"_s));
    m_config.data = write("novel.txt", "It was a dark and stormy night.");
    EXPECT_EQ(problemOf("data"), QString());
    EXPECT_TRUE(noteOf("data").contains(u"read as bytes"_s));
}

TEST_F(RunSourcesTest, TokenFilesAreLookedInto) {
    m_config.data = write("few.bin", std::string(20, '\1'));
    EXPECT_TRUE(problemOf("data").contains(u"too few for a context of 128"_s))
        << problemOf("data").toStdString();
    EXPECT_TRUE(problemOf("data").contains(u"“Context”"_s));
}

TEST_F(RunSourcesTest, ATokenizerLargerThanTheVocabularySaysWhatToGive) {
    m_config.tokenizer = m_folder.file("tokenizer.json");
    EXPECT_FALSE(problemOf("tokenizer").isEmpty()) << "it is not there yet";
    writeTokenizer(m_config.tokenizer, 44);
    EXPECT_EQ(problemOf("tokenizer"), QString());
    EXPECT_EQ(noteOf("tokenizer"), u"300 tokens"_s);
    EXPECT_EQ(problemOf("model.vocabulary"),
              u"The tokenizer has 300 tokens, the model a vocabulary of 256; give the model 300 "
              u"or more."_s);
    m_config.model.vocabulary = 300;
    EXPECT_EQ(problemOf("model.vocabulary"), QString());
}

TEST_F(RunSourcesTest, AFolderForCheckpointsIsMadeWhereOneCanBe) {
    m_config.checkpoint = m_folder.file("new/deep");
    EXPECT_EQ(problemOf("checkpoint"), QString());
    EXPECT_EQ(noteOf("checkpoint"), u"will be made"_s);
    m_config.checkpoint = write("file", "x");
    EXPECT_TRUE(problemOf("checkpoint").contains(u"is a file; name a folder"_s));
    m_config.checkpoint = m_folder.file("file/below");
    EXPECT_TRUE(problemOf("checkpoint").contains(u"cannot be made"_s));
}

TEST_F(RunSourcesTest, ACheckpointHasToBeThereAndOfTheModel) {
    m_config.resume = m_folder.file("nowhere");
    EXPECT_TRUE(problemOf("resume").contains(u"is no folder; name a folder"_s))
        << problemOf("resume").toStdString();
    RunConfig first;
    first.model.layers = 4;
    first.batch = 3;
    writeCheckpoint(m_folder.file("ckpt"), first, 40);
    m_config.resume = m_folder.file("ckpt");
    EXPECT_TRUE(problemOf("resume").contains(u"layers 4 there, 6 here"_s));
    EXPECT_TRUE(problemOf("resume").contains(u"Take the checkpoint's settings"_s));
    m_config.model.layers = 4;
    EXPECT_EQ(problemOf("resume"), QString());
    EXPECT_TRUE(problemOf("steps").contains(u"has done 40 steps already; give more"_s));
    m_config.steps = 80;
    EXPECT_THAT(lookAtSources(m_config).problems, IsEmpty());
    EXPECT_EQ(lookAtSources(m_config).resumed, first);
    m_config.weights = m_folder.file("ckpt");
    EXPECT_FALSE(problemOf("weights").isEmpty()) << "two starts";
}

TEST_F(RunSourcesTest, WeightsAreASafetensorsFile) {
    m_config.weights = write("weights.safetensors", "not at all");
    EXPECT_FALSE(problemOf("weights").isEmpty());
}

TEST_F(RunSourcesTest, SlowFilesAreReadBehindAndTheLastQuestionIsAnswered) {
    RunSources sources;
    EXPECT_NE(sources.of(m_config), nullptr) << "nothing to read";
    QSignalSpy changed(&sources, &RunSources::changed);
    m_config.tokenizer = m_folder.file("tokenizer.json");
    EXPECT_EQ(sources.of(m_config), nullptr);
    RunConfig last = m_config;
    last.model.vocabulary = 300;
    writeTokenizer(last.tokenizer, 44);
    EXPECT_EQ(sources.of(last), nullptr);
    ASSERT_TRUE(changed.wait(10'000));
    ASSERT_NE(sources.of(last), nullptr);
    EXPECT_THAT(sources.of(last)->problems, IsEmpty());
    EXPECT_EQ(changed.size(), 1) << "the first question was overtaken";

    std::filesystem::remove(last.tokenizer);
    EXPECT_THAT(sources.of(last)->problems, IsEmpty()) << "known";
    sources.forget();
    EXPECT_EQ(sources.of(last), nullptr);
    ASSERT_TRUE(changed.wait(10'000));
    EXPECT_EQ(sources.of(last)->problems.count("tokenizer"), 1U);
}

QStringList valuesOf(const OpenRecording& recording, const QString& name) {
    QStringList values;
    for (const auto& [key, value] : runFacts(recording))
        if (key == name) values << value;
    return values;
}

HostFacts host(const std::string& name, std::int32_t cores) {
    HostFacts facts;
    facts.name = name;
    facts.cpu = "EPYC";
    facts.cores = cores;
    facts.memory = Bytes{std::int64_t{32} << 30};
    return facts;
}

TEST(RunFacts, SayHowManyStepsWereAskedFor) {
    OpenRecording recording;
    run::RunConfig config;
    config.steps = 2000;
    recording.summary.run.model = "tiny";
    recording.summary.run.worldSize = 2;
    recording.summary.run.configJson = run::toJson(config);
    recording.report.basis.steps = 248;
    EXPECT_EQ(valuesOf(recording, u"steps"_s), QStringList{u"248 recorded, 2,000 asked for"_s});
    EXPECT_EQ(valuesOf(recording, u"seed"_s), QStringList{u"1337"_s});
}

TEST(RunFacts, ManyEqualHostsAreOneRow) {
    OpenRecording recording;
    recording.summary.run.model = "tiny";
    for (int i = 0; i < 128; ++i)
        recording.summary.hosts.push_back(host("n" + std::to_string(i), 8));
    recording.summary.hosts.push_back(host("login", 2));
    EXPECT_EQ(valuesOf(recording, u"128 hosts"_s),
              QStringList{u"n0, n1, n2 and 125 more, EPYC, 8 cores, 32.0\u2009GiB"_s});
    EXPECT_EQ(valuesOf(recording, u"host"_s),
              QStringList{u"login, EPYC, 2 cores, 32.0\u2009GiB"_s});
}

}  // namespace
}  // namespace shardscope::desktop

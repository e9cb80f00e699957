// The session's state machine against a recorder that only speaks the protocol.
#include "app/desktop/session/recorder_session.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <QDir>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using State = RecorderSession::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SessionTest : public ::testing::Test {
protected:
    SessionTest() {
        QObject::connect(&m_session, &RecorderSession::stateChanged,
                         [this](State state) { m_states.push_back(state); });
        QObject::connect(&m_session, &RecorderSession::finished,
                         [this](const run::RunFinished& outcome) { m_outcome = outcome; });
        QObject::connect(&m_session, &RecorderSession::stepDone,
                         [this](const run::StepProgress& step) { m_steps.push_back(step); });
        QObject::connect(&m_session, &RecorderSession::rankFigures,
                         [this](const run::RankFigures& figures) { m_figures.push_back(figures); });
        QObject::connect(&m_session, &RecorderSession::sampled,
                         [this](const run::SampleText& sample) { m_samples.push_back(sample); });
        QObject::connect(
            &m_session, &RecorderSession::logged,
            [this](const run::RecorderLog& line) { m_log << QString::fromStdString(line.text); });
    }

    void start(const char* mode) {
        run::RunConfig config;
        config.data = mode;
        config.steps = 3;
        config.output = "a folder/run.sscope";
        m_session.start(QStringLiteral(SHARDSCOPE_FAKE_RECORDER), config);
    }

    bool waitForEnd() {
        return QTest::qWaitFor([this] { return m_outcome.has_value(); }, 10'000);
    }

    RecorderSession m_session;
    std::vector<State> m_states;
    std::vector<run::StepProgress> m_steps;
    std::vector<run::RankFigures> m_figures;
    std::vector<run::SampleText> m_samples;
    std::optional<run::RunFinished> m_outcome;
    QStringList m_log;
};

TEST_F(SessionTest, FollowsARunToItsEnd) {
    start("steps");
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(m_states, ElementsAre(State::kStarting, State::kRunning, State::kEnded));
    ASSERT_EQ(m_steps.size(), 3U);
    EXPECT_EQ(m_steps.back().step, 2);
    EXPECT_TRUE(m_steps.back().loss.has_value());
    EXPECT_EQ(m_outcome->status, "finished");
    EXPECT_EQ(m_outcome->output, "a folder/run.sscope");
    EXPECT_EQ(m_session.run().parameters, 10'774'272);
}

TEST_F(SessionTest, HandsOnWhatRanksAreAtAndWhatTheModelWrites) {
    start("steps");
    ASSERT_TRUE(waitForEnd());
    ASSERT_EQ(m_figures.size(), 6U) << "of two ranks, three steps";
    EXPECT_EQ(m_figures.back().rank, 1);
    EXPECT_EQ(m_figures.back().step, 2);
    EXPECT_EQ(m_figures.back().phase, "wait for reduction");
    ASSERT_EQ(m_samples.size(), 1U);
    EXPECT_EQ(m_samples[0].text, "ROMEO:\nwhat light");
}

TEST_F(SessionTest, AsksForTheControlProtocolAndKeepsPathsWhole) {
    start("steps");
    ASSERT_TRUE(waitForEnd());
    EXPECT_TRUE(m_log.contains(u"argument --control"_s));
    EXPECT_TRUE(m_log.contains(u"argument a folder/run.sscope"_s))
        << m_log.join(u'\n').toStdString();
}

TEST_F(SessionTest, StopEndsTheRunAfterItsStep) {
    start("endless");
    ASSERT_TRUE(QTest::qWaitFor([this] { return !m_steps.empty(); }, 10'000));
    m_session.stop();
    EXPECT_EQ(m_session.state(), State::kStopping);
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->status, "stopped");
}

TEST_F(SessionTest, ARunThatIsLetGoIsNotEnded) {
    start("endless");
    EXPECT_FALSE(m_session.canDetach()) << "it has not begun";
    ASSERT_TRUE(QTest::qWaitFor([this] { return m_steps.size() > 1; }, 10'000));
    ASSERT_TRUE(m_session.canDetach());
    const auto pid = static_cast<pid_t>(m_session.processId());
    m_session.detach();
    EXPECT_EQ(m_session.state(), State::kIdle);
    EXPECT_FALSE(m_outcome) << "it goes on";
    EXPECT_EQ(::kill(pid, 0), 0);
    start("steps");
    EXPECT_TRUE(waitForEnd()) << "the session is free for another run";
    EXPECT_EQ(::kill(pid, 0), 0);
    ::kill(pid, SIGKILL);
}

class PrintedTest : public SessionTest {
protected:
    /// With `output` what it prints goes to a file beside that.
    void startProgram(const QString& output) {
        m_session.start(QStringLiteral(SHARDSCOPE_FAKE_RECORDER),
                        {u"--data"_s, u"program"_s, u"--output"_s, output}, output);
        ASSERT_TRUE(QTest::qWaitFor([this] { return prints(3); }, 10'000))
            << m_log.join(u'\n').toStdString();
    }

    bool prints(int step) const { return m_log.contains(u"printed at step %1"_s.arg(step)); }
    QStringList files() const { return QDir(m_folder.path()).entryList(QDir::Files); }

    QTemporaryDir m_folder;
};

TEST_F(PrintedTest, WhatAProgramPrintsIsInAFileWhileItGoesOn) {
    ASSERT_NO_FATAL_FAILURE(startProgram(m_folder.filePath(u"run.sscope"_s)));
    ASSERT_EQ(files().size(), 1);
    EXPECT_EQ(m_session.printedFile(), m_folder.filePath(files().front()));
    m_session.stop();
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(files(), IsEmpty()) << "the window has it";
    EXPECT_TRUE(prints(m_steps.back().step)) << "to the last line";
}

TEST_F(PrintedTest, AProgramThatIsLetGoPrintsOnIntoTheFile) {
    ASSERT_NO_FATAL_FAILURE(startProgram(m_folder.filePath(u"run.sscope"_s)));
    ASSERT_TRUE(m_session.canDetach());
    const QString printed = m_session.printedFile();
    const auto pid = static_cast<pid_t>(m_session.processId());
    m_session.detach();
    EXPECT_EQ(m_session.state(), State::kIdle);
    const qint64 before = QFileInfo(printed).size();
    EXPECT_TRUE(QTest::qWaitFor([&] { return QFileInfo(printed).size() > before; }, 10'000));
    EXPECT_EQ(::kill(pid, 0), 0);
    ::kill(pid, SIGKILL);
    QFile file(printed);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_TRUE(file.readAll().startsWith("printed at step 0\n")) << "from the beginning";
}

TEST_F(PrintedTest, WithoutAFileAProgramCannotBeLetGo) {
    ASSERT_NO_FATAL_FAILURE(startProgram(m_folder.filePath(u"nowhere/run.sscope"_s)));
    EXPECT_FALSE(m_session.canDetach());
    EXPECT_EQ(m_session.printedFile(), QString());
    m_session.stop();
    ASSERT_TRUE(waitForEnd());
}

TEST_F(SessionTest, CaptureChangesWhileTheRunGoesOn) {
    start("endless");
    ASSERT_TRUE(QTest::qWaitFor([this] { return !m_steps.empty(); }, 10'000));
    m_session.capture(u"light"_s);
    const auto heard = [this](const QString& line) {
        return QTest::qWaitFor([&] { return m_log.contains(line); }, 10'000);
    };
    EXPECT_TRUE(heard(u"heard command capture level light"_s)) << m_log.join(u'\n').toStdString();
    m_session.capture({});
    EXPECT_TRUE(heard(u"heard command capture"_s)) << m_log.join(u'\n').toStdString();
    m_session.stop();
    ASSERT_TRUE(waitForEnd());
}

TEST_F(SessionTest, KillEndsTheRunAtOnce) {
    start("endless");
    ASSERT_TRUE(QTest::qWaitFor([this] { return !m_steps.empty(); }, 10'000));
    m_session.kill();
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->status, "killed");
    EXPECT_FALSE(m_session.isGoing());
}

TEST_F(SessionTest, ACrashIsReportedInWords) {
    start("crash");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->status, "failed");
    EXPECT_TRUE(QString::fromStdString(m_outcome->message).contains(u"unexpectedly"_s));
}

TEST_F(SessionTest, AnEarlyExitKeepsItsLastWords) {
    start("fail");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->exitCode, 3);
    EXPECT_TRUE(QString::fromStdString(m_outcome->message).contains(u"data file is empty"_s))
        << m_outcome->message;
}

TEST_F(SessionTest, LinesThatAreNoEventsAreLogged) {
    start("garbage");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->status, "finished");
    EXPECT_TRUE(m_log.join(u'\n').contains(u"not an event"_s));
}

TEST_F(SessionTest, AMissingProgramIsNamed) {
    m_session.start(u"/nowhere/shardscope"_s, run::RunConfig());
    ASSERT_TRUE(waitForEnd());
    EXPECT_TRUE(QString::fromStdString(m_outcome->message).contains(u"/nowhere/shardscope"_s));
    m_outcome.reset();
    m_session.start(QString(), run::RunConfig());
    ASSERT_TRUE(waitForEnd());
    EXPECT_TRUE(QString::fromStdString(m_outcome->message).contains(u"PATH"_s));
}

TEST_F(SessionTest, CanRunAgain) {
    start("steps");
    ASSERT_TRUE(waitForEnd());
    m_outcome.reset();
    start("steps");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_steps.size(), 6U);
}

}  // namespace
}  // namespace shardscope::desktop

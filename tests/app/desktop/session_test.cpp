// The session's state machine against a recorder that only speaks the protocol.
#include "app/desktop/session/recorder_session.h"

#include <gmock/gmock.h>

#include <QSignalSpy>
#include <QTest>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using State = RecorderSession::State;
using ::testing::ElementsAre;

class SessionTest : public ::testing::Test {
protected:
    SessionTest() {
        QObject::connect(&m_session, &RecorderSession::stateChanged,
                         [this](State state) { m_states.push_back(state); });
        QObject::connect(&m_session, &RecorderSession::finished,
                         [this](const RunFinished& outcome) { m_outcome = outcome; });
        QObject::connect(&m_session, &RecorderSession::stepDone,
                         [this](const StepProgress& step) { m_steps.push_back(step); });
        QObject::connect(&m_session, &RecorderSession::logged,
                         [this](const RecorderLog& line) { m_log << line.text; });
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
    std::vector<StepProgress> m_steps;
    std::optional<RunFinished> m_outcome;
    QStringList m_log;
};

TEST_F(SessionTest, FollowsARunToItsEnd) {
    start("steps");
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(m_states, ElementsAre(State::kStarting, State::kRunning, State::kEnded));
    ASSERT_EQ(m_steps.size(), 3U);
    EXPECT_EQ(m_steps.back().step, 2);
    EXPECT_TRUE(m_steps.back().loss.has_value());
    EXPECT_EQ(m_outcome->status, u"finished"_s);
    EXPECT_EQ(m_outcome->output, u"a folder/run.sscope"_s);
    EXPECT_EQ(m_session.run().parameters, 10'774'272);
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
    EXPECT_EQ(m_outcome->status, u"stopped"_s);
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
    EXPECT_EQ(m_outcome->status, u"killed"_s);
    EXPECT_FALSE(m_session.isGoing());
}

TEST_F(SessionTest, ACrashIsReportedInWords) {
    start("crash");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->status, u"failed"_s);
    EXPECT_TRUE(m_outcome->message.contains(u"unexpectedly"_s));
}

TEST_F(SessionTest, AnEarlyExitKeepsItsLastWords) {
    start("fail");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->exitCode, 3);
    EXPECT_TRUE(m_outcome->message.contains(u"data file is empty"_s))
        << m_outcome->message.toStdString();
}

TEST_F(SessionTest, LinesThatAreNoEventsAreLogged) {
    start("garbage");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_outcome->status, u"finished"_s);
    EXPECT_TRUE(m_log.join(u'\n').contains(u"not an event"_s));
}

TEST_F(SessionTest, AMissingProgramIsNamed) {
    m_session.start(u"/nowhere/shardscope"_s, {});
    ASSERT_TRUE(waitForEnd());
    EXPECT_TRUE(m_outcome->message.contains(u"/nowhere/shardscope"_s));
    m_outcome.reset();
    m_session.start({}, {});
    ASSERT_TRUE(waitForEnd());
    EXPECT_TRUE(m_outcome->message.contains(u"PATH"_s));
}

TEST_F(SessionTest, CanRunAgain) {
    start("steps");
    ASSERT_TRUE(waitForEnd());
    m_outcome.reset();
    start("steps");
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(m_steps.size(), 6U);
}

TEST(RecorderEvents, UnknownEventsOfANewerRecorderAreIgnored) {
    const auto event = parseRecorderEvent(R"({"event":"weather","sun":true})");
    ASSERT_TRUE(event);
    EXPECT_FALSE(event->has_value());
    EXPECT_FALSE(parseRecorderEvent("[1,2]"));
}

TEST(RecorderEvents, MissingNumbersStayUnknown) {
    const auto event = parseRecorderEvent(R"({"event":"step","step":4,"steps":9,"loss":null})");
    ASSERT_TRUE(event && event->has_value());
    const auto& step = std::get<StepProgress>(**event);
    EXPECT_EQ(step.step, 4);
    EXPECT_FALSE(step.loss.has_value());
    EXPECT_FALSE(step.memoryBytes.has_value());
}

TEST(ShellWords, AreSplitAsAShellDoes) {
    EXPECT_EQ(splitShellWords(u"a 'b c' \"d e\" f\\ g 'it'\\''s' ''"_s),
              QStringList({u"a"_s, u"b c"_s, u"d e"_s, u"f g"_s, u"it's"_s, QString()}));
}

}  // namespace
}  // namespace shardscope::desktop

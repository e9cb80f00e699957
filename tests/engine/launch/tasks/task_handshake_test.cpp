// Both sides' state machines, with an attacker in between who knows the protocol and not the
// secret.
#include "engine/launch/tasks/task_handshake.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

using Verdict = JoiningHandshake::Verdict;

TaskPlace placeWith(const std::string& secret, const std::string& identity = "run 7") {
    return {Launcher::kTorchrun, 1, 2, "", "node-a", 29500, identity, secret};
}
const TaskSecret& secret() {
    static const TaskSecret kOwn = TaskSecret::of(placeWith("a secret of sixteen letters"));
    return kOwn;
}
const TaskSecret& otherSecret() {
    static const TaskSecret kOther = TaskSecret::of(placeWith("another secret of enough letters"));
    return kOther;
}

const TaskHello kTask{false, 1, 2, "group 1", "node-b", "0-3", "this build"};

/// Up to the proof; each side fresh.
struct Meeting {
    explicit Meeting(const TaskSecret& theirs = secret(), const TaskHello& hello = kTask)
        : task(theirs, hello), first(secret()) {
        challenge = first.challenge(task.hello()).value();
        proof = task.prove(challenge).value();
    }
    JoiningHandshake task;
    AdmittingHandshake first;
    std::string challenge, proof;
};

TEST(TaskHandshake, TwoThatKnowTheSecretMeet) {
    Meeting meeting;
    EXPECT_TRUE(meeting.first.isOfThisRun());
    EXPECT_EQ(meeting.first.hello().host, "node-b");
    ASSERT_TRUE(meeting.first.proves(meeting.proof));
    EXPECT_EQ(meeting.task.hear(meeting.first.welcome()).verdict, Verdict::kWelcome);
    auto task = meeting.task.seals();
    auto first = meeting.first.seals();
    EXPECT_EQ(task.out.next("stop"), first.in.next("stop"));
    EXPECT_EQ(first.out.next("end 0"), task.in.next("end 0"));
    EXPECT_NE(task.out.next("same"), first.out.next("same")) << "directions have keys of their own";
}

TEST(TaskHandshake, ARefusalIsProvedWithItsSentence) {
    Meeting meeting;
    const std::string refusal = meeting.first.refusal("task 1 counts 3 tasks");
    const auto heard = meeting.task.hear(refusal);
    EXPECT_EQ(heard.verdict, Verdict::kRefused);
    EXPECT_EQ(heard.sentence, "task 1 counts 3 tasks");
    EXPECT_EQ(meeting.task.hear(refusal + "!").verdict, Verdict::kStranger);
}

TEST(TaskHandshake, AnotherSecretProvesNothing) {
    Meeting meeting(otherSecret());
    EXPECT_FALSE(meeting.first.proves(meeting.proof));
    EXPECT_EQ(meeting.task.hear(meeting.first.welcome()).verdict, Verdict::kStranger);
    EXPECT_EQ(meeting.task.hear(meeting.first.refusal("no")).verdict, Verdict::kStranger);
    EXPECT_EQ(meeting.task.hear("unproved").verdict, Verdict::kUnproved);
}

TEST(TaskHandshake, TheSecretAndItsKeyAreNeverSaid) {
    Meeting meeting;
    for (const std::string& line : {meeting.task.hello(), meeting.challenge, meeting.proof,
                                    meeting.first.welcome(), meeting.first.refusal("no")}) {
        EXPECT_EQ(line.find("secret of"), line.npos);
        EXPECT_EQ(line.find(network::toHex(secret().key).substr(0, 16)), line.npos);
    }
}

TEST(TaskHandshake, ARecordedExchangeIsWorthless) {
    Meeting recorded;
    ASSERT_TRUE(recorded.first.proves(recorded.proof));
    const std::string welcome = recorded.first.welcome();
    // To rank 0's task of the next run, or of this one again.
    AdmittingHandshake again(secret());
    ASSERT_TRUE(again.challenge(recorded.task.hello()).has_value());
    EXPECT_FALSE(again.proves(recorded.proof));
    // To a task, with the challenge of then.
    JoiningHandshake task(secret(), kTask);
    ASSERT_TRUE(task.prove(recorded.challenge).has_value());
    EXPECT_EQ(task.hear(welcome).verdict, Verdict::kStranger);
}

TEST(TaskHandshake, ATasksOwnWordsProveNothingToIt) {
    Meeting meeting;
    const std::string mac = meeting.proof.substr(meeting.proof.find(' '));
    for (const char* word : {"welcome", "refused", "proof", "challenge"})
        EXPECT_EQ(meeting.task.hear(word + mac).verdict, Verdict::kStranger) << word;
    EXPECT_EQ(meeting.task.hear(meeting.task.hello()).verdict, Verdict::kStranger);
}

TEST(TaskHandshake, AProofIsOfItsRoleRankAndHost) {
    Meeting meeting;
    TaskHello agent = kTask, rank = kTask, host = kTask;
    agent.agent = true;
    rank.rank = 0;
    host.host = "node-c";
    for (const TaskHello& hello : {agent, rank, host}) {
        // The attacker says another hello, and has the true task prove its own.
        std::string line = meeting.task.hello();
        TaskHello changed = parseHello(line).value();
        changed.agent = hello.agent;
        changed.rank = hello.rank;
        changed.host = hello.host;
        AdmittingHandshake first(secret());
        const auto challenge = first.challenge(helloLine(changed));
        ASSERT_TRUE(challenge.has_value());
        const auto proof = meeting.task.prove(*challenge);
        ASSERT_TRUE(proof.has_value());
        EXPECT_FALSE(first.proves(*proof));
    }
}

TEST(TaskHandshake, WhoPassesWordsOnLearnsNoKey) {
    // Everything goes through the attacker unchanged, and both are welcome: a longer wire.
    Meeting meeting;
    ASSERT_TRUE(meeting.first.proves(meeting.proof));
    ASSERT_EQ(meeting.task.hear(meeting.first.welcome()).verdict, Verdict::kWelcome);
    // What is put in has no tag, or that of another connection.
    Meeting other;
    auto task = meeting.task.seals(), elsewhere = other.first.seals();
    const network::Seal::Tag tag = elsewhere.out.next("lead 0-3");
    EXPECT_FALSE(task.in.fits("lead 0-3", {reinterpret_cast<const char*>(tag.data()), tag.size()}));
}

TEST(TaskHandshake, AnotherVersionIsNotTalkedTo) {
    AdmittingHandshake first(secret());
    std::string line = JoiningHandshake(secret(), kTask).hello();
    line.replace(line.find(" 2\t"), 2, " 1");
    EXPECT_FALSE(first.challenge(line).has_value());
    // As the first version said it: the proof, the same each time, and the rest.
    const std::string mac(64, 'a');
    EXPECT_FALSE(first.challenge(fmt::format("{}\ttask\t1\t2\tn\th\t0\tp\tr", mac)).has_value());
    JoiningHandshake task(secret(), kTask);
    EXPECT_FALSE(task.prove("welcome " + mac).has_value());
    EXPECT_EQ(task.hear("welcome " + mac).verdict, Verdict::kStranger);
}

TEST(TaskHandshake, OutOfTurnNothingIsProved) {
    Meeting meeting;
    AdmittingHandshake first(secret());
    EXPECT_FALSE(first.proves(meeting.proof)) << "before its challenge";
    JoiningHandshake task(secret(), kTask);
    EXPECT_EQ(task.hear(meeting.first.welcome()).verdict, Verdict::kStranger);
    EXPECT_EQ(task.hear("unproved").verdict, Verdict::kStranger);
}

TEST(TaskHandshake, ChallengesAreWholeNonces) {
    JoiningHandshake task(secret(), kTask);
    for (const std::string& nonce : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                     std::string(64, 'g'), std::string(64, ' ')})
        EXPECT_FALSE(task.prove("challenge " + nonce).has_value()) << nonce;
}

/// Cut, changed, exchanged between connections, said in another order, in another role: whatever
/// an attacker makes of what true ones say.
class Forger {
public:
    explicit Forger(unsigned seed) : m_random(seed) {}
    std::string pick(const std::vector<std::string>& heard) {
        std::string line = heard[m_random() % heard.size()];
        switch (m_random() % 5) {
            case 0:
                line.resize(m_random() % (line.size() + 1));
                break;
            case 1:
                for (unsigned i = 0; i <= m_random() % 3 && !line.empty(); ++i)
                    line[m_random() % line.size()] = static_cast<char>(m_random());
                break;
            case 2:
                line = kWords[m_random() % 5] + line.substr(std::min(line.find(' '), line.size()));
                break;
            case 3: {
                const std::string& tail = heard[m_random() % heard.size()];
                line = line.substr(0, m_random() % (line.size() + 1)) +
                       tail.substr(m_random() % (tail.size() + 1));
                break;
            }
            default:
                break;
        }
        return line;
    }

private:
    static constexpr const char* kWords[] = {"challenge", "proof", "welcome", "refused",
                                             "unproved"};
    std::mt19937 m_random;
};

TEST(TaskHandshake, OfTenThousandForgedNoneIsAcceptedAndTheTrueTaskStillIs) {
    Forger forger(7);  // NOLINT: the same each time
    std::vector<std::string> heard;
    for (int round = 0; round < 10'000; ++round) {
        // What true ones say elsewhere, all of which the attacker hears and may use here.
        if (round % 10 == 0) {
            Meeting elsewhere;
            heard = {elsewhere.task.hello(),    elsewhere.challenge,           elsewhere.proof,
                     elsewhere.first.welcome(), elsewhere.first.refusal("no"), "unproved"};
        }
        AdmittingHandshake first(secret());
        if (first.challenge(forger.pick(heard))) {
            const std::string proof = forger.pick(heard);
            ASSERT_FALSE(first.proves(proof)) << proof;
        }
        JoiningHandshake task(secret(), kTask);
        if (task.prove(forger.pick(heard))) {
            const std::string answer = forger.pick(heard);
            const Verdict verdict = task.hear(answer).verdict;
            ASSERT_TRUE(verdict == Verdict::kStranger || verdict == Verdict::kUnproved) << answer;
        }
    }
    Meeting meeting;
    EXPECT_TRUE(meeting.first.proves(meeting.proof));
}

}  // namespace
}  // namespace shardscope::launch

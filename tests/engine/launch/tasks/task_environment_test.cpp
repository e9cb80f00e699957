#include "engine/launch/tasks/task_environment.h"

#include <gmock/gmock.h>

#include <vector>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Variables with(Variables base, const Variables& changed) {
    for (const auto& [name, value] : changed) base[name] = value;
    std::erase_if(base, [](const auto& each) { return each.second == "-"; });
    return base;
}

// What each launcher gives task 5 of 8, the second of four on the second of two nodes.
const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"GROUP_RANK", "1"},
                             {"GROUP_WORLD_SIZE", "2"},
                             {"ROLE_RANK", "5"},
                             {"ROLE_NAME", "default"},
                             {"MASTER_ADDR", "node-a"},
                             {"MASTER_PORT", "29600"},
                             {"OMP_NUM_THREADS", "1"},
                             {"TORCHELASTIC_RUN_ID", "run7"},
                             {"TORCHELASTIC_RESTART_COUNT", "0"},
                             {"TORCHELASTIC_MAX_RESTARTS", "0"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "5"},       {"OMPI_COMM_WORLD_SIZE", "8"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                           {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"OMPI_UNIVERSE_SIZE", "8"},
                           {"PMIX_NAMESPACE", "4023189505"},    {"MASTER_ADDR", "node-a"}};
const Variables kSrun = {{"SLURM_PROCID", "5"},
                         {"SLURM_NTASKS", "8"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_NODEID", "1"},
                         {"SLURM_JOB_ID", "1234"},
                         {"SLURM_STEP_ID", "2"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_STEP_NUM_NODES", "2"},
                         {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                         {"SLURM_STEP_NODELIST", "node-[a07-a08]"},
                         {"SLURM_JOB_NODELIST", "other,node-[a07-a08]"}};
const Variables kPod = {
    {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};

struct Case {
    const char* name;
    Variables variables;
    std::optional<Launcher> by;
    TaskPlace place;
};

class TaskPlaces : public testing::TestWithParam<Case> {};

TEST_P(TaskPlaces, AreTold) {
    const auto found = taskOf(GetParam().variables, GetParam().by);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    ASSERT_TRUE(found->has_value());
    TaskPlace place = **found;
    EXPECT_FALSE(place.identity.empty());
    place.identity.clear();
    EXPECT_EQ(place, GetParam().place)
        << place.rank << " of " << place.size << " at '" << place.address << "' port " << place.port
        << " node '" << place.node << "'";
}

INSTANTIATE_TEST_SUITE_P(
    All, TaskPlaces,
    testing::ValuesIn(std::vector<Case>{
        {"torchrun",
         kTorchrun,
         {},
         {Launcher::kTorchrun, 5, 8, "group 1", "node-a", 29600, "", "run7"}},
        {"torchrunWithItsStore",
         with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
         {},
         {Launcher::kTorchrun, 5, 8, "group 1", "node-a", 29601, "", "run7"}},
        {"torchrunOnOneHost",
         with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}, {"GROUP_RANK", "0"}}),
         {},
         {Launcher::kTorchrun, 5, 8, "group 0", "", 0, ""}},
        {"torchrunWithinSlurm",
         with(with(kSrun, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}), kTorchrun),
         {},
         {Launcher::kTorchrun, 5, 8, "group 1", "node-a", 29600, "", "run7"}},
        {"mpirun", kMpirun, {}, {Launcher::kMpirun, 5, 8, "", "node-a", 29500, ""}},
        {"mpirunWithAPort",
         with(kMpirun, {{"MASTER_PORT", "29511"}}),
         {},
         {Launcher::kMpirun, 5, 8, "", "node-a", 29511, ""}},
        {"mpirunOnOneHost",
         with(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}, {"MASTER_ADDR", "-"}}),
         {},
         {Launcher::kMpirun, 5, 8, "", "", 0, ""}},
        {"mpirunWithinSlurm",
         with(with(kSrun, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}), kMpirun),
         {},
         {Launcher::kMpirun, 5, 8, "", "node-a", 29500, ""}},
        {"mpirunWhoseRanksAWrapperCopies",
         with(kMpirun, {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_PORT", "29511"}}),
         {},
         {Launcher::kMpirun, 5, 8, "", "node-a", 29511, ""}},
        {"srun", kSrun, {}, {Launcher::kSlurm, 5, 8, "node 1", "node-a07", 29746, ""}},
        {"srunWithAnAddress",
         with(kSrun, {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29511"}}),
         {},
         {Launcher::kSlurm, 5, 8, "node 1", "10.0.0.1", 29511, ""}},
        {"srunOnOneNode",
         with(kSrun, {{"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_NODEID", "0"}}),
         {},
         {Launcher::kSlurm, 5, 8, "node 0", "", 0, ""}},
        {"pod", kPod, {}, {Launcher::kEnvironment, 5, 8, "", "job-master-0", 23456, ""}},
        {"aLoneTaskThatIsNamed",
         with(kPod, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}),
         Launcher::kEnvironment,
         {Launcher::kEnvironment, 0, 1, "", "job-master-0", 23456, ""}},
        {"oneOfTwoThatIsNamed",
         with(kMpirun, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29511"}}),
         Launcher::kEnvironment,
         {Launcher::kEnvironment, 1, 2, "", "node-a", 29511, ""}},
    }),
    [](const auto& each) { return std::string(each.param.name); });

TEST(TaskEnvironment, WhatIsNoTaskIsNone) {
    const std::vector<Variables> none = {
        {},
        {{"PATH", "/bin"}, {"RANK", "3"}},
        with(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}),
        with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}),
        // The batch script of a job, which is no step.
        with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "-"}, {"SLURM_STEP_ID", "-"}}),
        with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
    };
    for (const Variables& variables : none) {
        const auto found = taskOf(variables);
        ASSERT_TRUE(found.has_value()) << found.error().message;
        EXPECT_FALSE(found->has_value());
    }
}

std::string refusal(const Variables& variables, std::optional<Launcher> by = {}) {
    const auto found = taskOf(variables, by);
    if (found) return "taken";
    EXPECT_EQ(found.error().code, ErrorCode::kUsage);
    EXPECT_THAT(found.error().message, HasSubstr("--launched-by none"));
    return found.error().message;
}

TEST(TaskEnvironment, WhatIsMissingIsNamed) {
    EXPECT_THAT(refusal(with(kPod, {{"MASTER_ADDR", "-"}})),
                AllOf(HasSubstr("MASTER_ADDR is not set"), HasSubstr("alike for all")));
    EXPECT_THAT(refusal(with(kPod, {{"MASTER_PORT", "-"}})), HasSubstr("MASTER_PORT is not set"));
    EXPECT_THAT(refusal(with(kMpirun, {{"MASTER_ADDR", "-"}})),
                HasSubstr("-x MASTER_ADDR=HOST, the host of rank 0"));
    EXPECT_THAT(refusal(with(kSrun, {{"SLURM_STEP_NODELIST", "-"}})),
                HasSubstr("SLURM_STEP_NODELIST"));
    EXPECT_THAT(refusal({}, Launcher::kTorchrun), HasSubstr("torchrun sets RANK for each task"));
    EXPECT_THAT(refusal(kPod, Launcher::kMpirun), HasSubstr("OMPI_COMM_WORLD_RANK"));
    EXPECT_THAT(refusal(kPod, Launcher::kSlurm), HasSubstr("srun sets SLURM_PROCID"));
}

TEST(TaskEnvironment, WhatContradictsItselfIsRefused) {
    EXPECT_THAT(refusal(with(kPod, {{"RANK", "8"}})), HasSubstr("there are tasks 0 to 7 only"));
    EXPECT_THAT(refusal(with(kPod, {{"RANK", "-1"}})),
                HasSubstr("RANK is '-1', which is not a number"));
    EXPECT_THAT(refusal(with(kPod, {{"RANK", "five"}})), HasSubstr("RANK is 'five'"));
    EXPECT_THAT(refusal(with(kPod, {{"MASTER_PORT", "70000"}})), HasSubstr("ports are 1 to 65535"));
    EXPECT_THAT(refusal(with(kPod, {{"MASTER_PORT", "0"}})), HasSubstr("MASTER_PORT is 0"));
    EXPECT_THAT(refusal(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})),
                HasSubstr("LOCAL_WORLD_SIZE is 9, and WORLD_SIZE is 8"));
    EXPECT_THAT(refusal(with(kTorchrun, {{"LOCAL_RANK", "4"}})),
                HasSubstr("LOCAL_RANK is 4, and LOCAL_WORLD_SIZE is 4"));
    EXPECT_THAT(refusal(with(kTorchrun,
                             {{"MASTER_PORT", "65535"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}})),
                HasSubstr("choose a lower one"));
    EXPECT_THAT(refusal(with(kMpirun, {{"RANK", "4"}, {"WORLD_SIZE", "8"}})),
                HasSubstr("mpirun says OMPI_COMM_WORLD_RANK 5 and RANK 4"));
    EXPECT_THAT(refusal(with(kSrun, {{"RANK", "5"}, {"WORLD_SIZE", "4"}})),
                HasSubstr("srun says SLURM_STEP_NUM_TASKS 8 and WORLD_SIZE 4"));
}

std::string identity(const Variables& variables) {
    return (*taskOf(variables).value()).identity;
}

TEST(TaskEnvironment, TasksOfARunHaveTheSameIdentityAndThoseOfAnotherDoNot) {
    EXPECT_EQ(identity(kTorchrun),
              identity(with(kTorchrun, {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"GROUP_RANK", "0"}})));
    EXPECT_EQ(identity(kPod), identity(with(kPod, {{"RANK", "0"}, {"MASTER_ADDR", "localhost"}})));
    EXPECT_EQ(identity(kSrun), identity(with(kSrun, {{"SLURM_PROCID", "0"}})));
    for (const auto& [variables, other] :
         {std::pair(kTorchrun, Variables{{"LOCAL_WORLD_SIZE", "8"}, {"TORCHELASTIC_RUN_ID", "x"}}),
          {kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}}},
          {kTorchrun, {{"MASTER_PORT", "29601"}}},
          {kMpirun, {{"PMIX_NAMESPACE", "4023189506"}}},
          {kSrun, {{"SLURM_STEP_ID", "3"}}},
          {kSrun, {{"SLURM_JOB_ID", "1235"}}},
          {kPod, {{"MASTER_PORT", "23457"}}}})
        EXPECT_NE(identity(variables), identity(with(variables, other))) << other.begin()->first;
}

TEST(TaskEnvironment, TasksThatCountOthersAreOfTheSameRunAndToldSo) {
    EXPECT_EQ(identity(kPod), identity(with(kPod, {{"WORLD_SIZE", "99"}})));
    EXPECT_EQ(identity(kPod), identity(with(kPod, {{kTaskToken, "a secret"}})));
}

std::string secret(const Variables& variables) {
    return (*taskOf(variables).value()).secret;
}

TEST(TaskEnvironment, TheTokenIsTheSecretElseARunIdThatTorchrunsUserHasChosen) {
    for (const Variables& variables : {kTorchrun, kMpirun, kSrun, kPod})
        EXPECT_EQ(secret(with(variables, {{kTaskToken, "a secret"}})), "a secret");
    EXPECT_EQ(secret(kTorchrun), "run7");
    EXPECT_EQ(secret(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "none"}})), "");
    EXPECT_EQ(secret(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}})), "") << "on one host";
    for (const Variables& variables : {kMpirun, kSrun, kPod}) EXPECT_EQ(secret(variables), "");
}

TEST(TaskEnvironment, WhatIsSecretIsNotInTheNameOfTheRun) {
    EXPECT_EQ(identity(kTorchrun).find("run7"), std::string::npos);
    EXPECT_NE(identity(with(kTorchrun, {{kTaskToken, "a secret"}})).find("run7"),
              std::string::npos);
}

TEST(TaskEnvironment, FirstHostOfAList) {
    EXPECT_EQ(firstOfNodeList("node1"), "node1");
    EXPECT_EQ(firstOfNodeList("node1,node2"), "node1");
    EXPECT_EQ(firstOfNodeList("node[03-05,9],big1"), "node03");
    EXPECT_EQ(firstOfNodeList("node[7,9]"), "node7");
    EXPECT_EQ(firstOfNodeList("rack[0-1]-node[2-3].site"), "rack0-node2.site");
    EXPECT_EQ(firstOfNodeList("node[3"), "");
    EXPECT_EQ(firstOfNodeList(""), "");
}

}  // namespace
}  // namespace shardscope::launch

#include "engine/launch/tasks/agent_terms.h"

#include "engine/run/config/run_option.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

run::RunConfig config() {
    run::RunConfig config;
    config.data = "/data/text";
    config.checkpoint = "/ckpt";
    return config;
}
run::TaskTerms terms() {
    run::TaskTerms terms;
    terms.paths = pathsOf(config());
    return terms;
}
run::LaunchRequest request() {
    run::LaunchRequest request;
    request.config = config();
    return request;
}
std::string refusal(const run::LaunchRequest& request, const run::TaskTerms& terms) {
    const auto allowed = checkTerms(terms, request);
    EXPECT_FALSE(allowed.has_value());
    if (allowed) return {};
    EXPECT_EQ(allowed.error().code, ErrorCode::kLaunch);
    return allowed.error().message;
}

TEST(AgentTerms, WhatTheTasksOwnCommandLineSaysIsDone) {
    EXPECT_TRUE(checkTerms(terms(), request()).has_value());
    run::LaunchRequest other = request();
    other.config.steps = 7;
    other.config.output = "/elsewhere/run.sscope";
    other.config.hosts = "a slots=1; b slots=1";
    EXPECT_TRUE(checkTerms(terms(), other).has_value()) << "only rank 0's task writes the output";
    EXPECT_TRUE(checkTerms(terms(), run::DataRequest{"/data/text"}).has_value());
}

TEST(AgentTerms, AProgramIsRefused) {
    run::LaunchRequest evil = request();
    evil.rankProgram = "/usr/bin/ldd";
    EXPECT_THAT(refusal(evil, terms()),
                AllOf(HasSubstr("'/usr/bin/ldd'"), HasSubstr("only the shardscope-rank")));
}

TEST(AgentTerms, VariablesBeyondDevicesThreadsAndNetworksAreRefused) {
    for (const char* name : {"BASH_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH",
                             "NCCL_NET_PLUGIN", "NCCL_DEBUG_FILE", "NCCL_TOPO_DUMP_FILE",
                             "SHARDSCOPE_RANK_PROGRAM", "OMP_TOOL_LIBRARIES", ""}) {
        run::LaunchRequest evil = request();
        evil.environment[name] = "x";
        EXPECT_THAT(refusal(evil, terms()), HasSubstr("environment variable ")) << name;
    }
    run::LaunchRequest good = request();
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_SOCKET_IFNAME"})
        good.environment[name] = "0";
    EXPECT_TRUE(checkTerms(terms(), good).has_value());
}

/// Whatever option of a path there is or will be.
TEST(AgentTerms, PathsThatTheCommandLineDoesNotSayAreRefused) {
    EXPECT_GE(pathsOf(config()).size(), 6u);
    for (const auto& [key, path] : pathsOf(config())) {
        run::LaunchRequest evil = request();
        const auto& options = run::runOptions();
        const auto option = std::find_if(options.begin(), options.end(),
                                         [&](const auto& each) { return key == each.key; });
        ASSERT_TRUE(option->set(evil.config, std::string("/home/victim")).has_value());
        EXPECT_THAT(refusal(evil, terms()),
                    AllOf(HasSubstr("'/home/victim' as " + key), HasSubstr("same arguments")));
    }
    EXPECT_FALSE(checkTerms(terms(), run::DataRequest{"/etc/shadow"}).has_value());
}

TEST(AgentTerms, ATaskWhoseOwnCommandLineIsWrongSaysSo) {
    run::TaskTerms none;
    none.trouble = "the data /data/text is not there";
    EXPECT_THAT(refusal(request(), none), HasSubstr("the data /data/text is not there"));
}

}  // namespace
}  // namespace shardscope::launch

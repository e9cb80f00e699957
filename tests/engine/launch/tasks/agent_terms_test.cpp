#include "engine/launch/tasks/agent_terms.h"

#include "engine/run/config/run_option.h"

#include <gmock/gmock.h>

#include <limits>
#include <set>
#include <string_view>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

run::RunConfig config() {
    run::RunConfig config;
    config.data = "/data/text";
    config.checkpoint = "/ckpt";
    config.ranks = 4;
    return config;
}
run::TaskTerms terms() {
    run::TaskTerms terms;
    terms.config = config();
    return terms;
}
run::LaunchRequest request() {
    run::LaunchRequest request;
    request.config = config();
    request.places = {{1, 3}};
    request.host = 1;
    return request;
}
std::string refusal(const run::LaunchRequest& request, const run::TaskTerms& terms) {
    const auto allowed = checkTerms(terms, request);
    EXPECT_FALSE(allowed.has_value());
    if (allowed) return {};
    EXPECT_EQ(allowed.error().code, ErrorCode::kLaunch);
    return allowed.error().message;
}

TEST(AgentTerms, TheRunOfTheTasksOwnCommandLineIsStarted) {
    EXPECT_TRUE(checkTerms(terms(), request()).has_value());
    EXPECT_TRUE(checkTerms(terms(), run::DataRequest{"/data/text"}).has_value());
}

TEST(AgentTerms, WhatFollowsFromWhereTheTasksAreIsNotTheCommandLines) {
    run::LaunchRequest other = request();
    other.config.output = "/elsewhere/run.sscope";
    other.config.hosts = "a slots=1; b slots=3";
    other.config.shardRanks = 2;
    other.config.threads = 0;
    EXPECT_TRUE(checkTerms(terms(), other).has_value());
    other.config.threads = 1000;
    EXPECT_THAT(refusal(other, terms()), HasSubstr("1000 threads"));
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

/// Another value than `value`, of the same type; nothing: a word of an enumeration.
std::optional<run::OptionValue> other(const run::OptionValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text + "/home/victim";
    if (const auto* on = std::get_if<bool>(&value)) return !*on;
    if (const auto* number = std::get_if<double>(&value)) return *number + 1;
    return std::get<std::int64_t>(value) + 1;
}

/// Whatever option there is or will be: where to write, how often, what to keep, how long.
TEST(AgentTerms, NoOptionIsOtherThanTheCommandLineHasIt) {
    const std::set<std::string_view> free = {"hosts", "output", "ranks", "shard_ranks", "threads"};
    int tried = 0;
    for (const run::RunOption& option : run::runOptions()) {
        if (free.contains(option.key)) continue;
        run::LaunchRequest evil = request();
        if (!option.set(evil.config, *other(option.get(evil.config)))) continue;
        if (option.isSame(evil.config, config())) continue;
        ++tried;
        EXPECT_THAT(refusal(evil, terms()), AllOf(HasSubstr(std::string(" as ") + option.key),
                                                  HasSubstr("same arguments")));
    }
    EXPECT_GT(tried, 60);
    EXPECT_FALSE(checkTerms(terms(), run::DataRequest{"/etc/shadow"}).has_value());
}

TEST(AgentTerms, RanksAreAsManyAsTheCommandLineSaysAndNotRankZeros) {
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    for (const std::vector<std::int32_t>& places : std::vector<std::vector<std::int32_t>>{
             {}, {4}, {1, 400}, {1, 2}, {-1, 5}, {0, 4}, {kMost, kMost, 6}}) {
        run::LaunchRequest evil = request();
        evil.places = {places};
        EXPECT_THAT(refusal(evil, terms()), HasSubstr("ranks on ")) << places.size();
    }
    for (const std::int32_t host : {0, -1}) {
        run::LaunchRequest evil = request();
        evil.host = host;
        refusal(evil, terms());
    }
}

TEST(AgentTerms, MorePeersThanTheRunHasRanksAreNotLookedFor) {
    run::PeersRequest peers;
    peers.peers.resize(3);
    EXPECT_TRUE(checkTerms(terms(), peers).has_value());
    peers.peers.resize(4);
    EXPECT_FALSE(checkTerms(terms(), peers).has_value());
}

TEST(AgentTerms, ATaskWhoseOwnCommandLineIsWrongSaysSo) {
    run::TaskTerms none;
    none.trouble = "the data /data/text is not there";
    EXPECT_THAT(refusal(request(), none), HasSubstr("the data /data/text is not there"));
    EXPECT_FALSE(checkTerms(none, run::DataRequest{""}).has_value());
}

}  // namespace
}  // namespace shardscope::launch

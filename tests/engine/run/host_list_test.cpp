#include "engine/run/config/host_list.h"

#include "engine/run/config/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace shardscope::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<HostConfig> hosts(std::string_view text) {
    auto parsed = parseHosts(text);
    EXPECT_TRUE(parsed.has_value()) << text << ": " << parsed.error().message;
    return parsed.value_or(std::vector<HostConfig>());
}

std::string refusal(std::string_view text) {
    const auto parsed = parseHosts(text);
    return parsed ? "taken" : parsed.error().message;
}

std::vector<std::string> names(const std::vector<HostConfig>& all) {
    std::vector<std::string> found;
    for (const HostConfig& host : all) found.push_back(host.name);
    return found;
}

TEST(HostList, AFileHasALineForEachHost) {
    const auto all = hosts(
        "# two machines\n"
        "\n"
        "node-a slots=4 max_slots=8\r\n"
        "  me@node-b\tslots=2 devices=0,3 interface=eth1 folder=\"/scratch/my things\" # mine\n"
        "node-c data=/d NCCL_DEBUG=INFO OMP_NUM_THREADS=\n");
    ASSERT_THAT(names(all), ElementsAre("node-a", "me@node-b", "node-c"));
    EXPECT_EQ(all[0].slots, 4);
    EXPECT_EQ(all[1].slots, 2);
    EXPECT_THAT(all[1].devices, ElementsAre(0, 3));
    EXPECT_EQ(all[1].interface, "eth1");
    EXPECT_EQ(all[1].folder, "/scratch/my things");
    EXPECT_EQ(all[2].slots, 0);
    EXPECT_EQ(all[2].data, "/d");
    EXPECT_EQ(all[2].environment.at("NCCL_DEBUG"), "INFO");
    EXPECT_EQ(all[2].environment.at("OMP_NUM_THREADS"), "");
}

TEST(HostList, AListHasNamesAndSlots) {
    const auto all = hosts("node-a:4,me@node-b,localhost:2");
    ASSERT_THAT(names(all), ElementsAre("node-a", "me@node-b", "localhost"));
    EXPECT_EQ(all[0].slots, 4);
    EXPECT_EQ(all[1].slots, 0);
    EXPECT_TRUE(all[2].isLocal());
    EXPECT_THAT(names(hosts("one")), ElementsAre("one"));
    EXPECT_THAT(names(hosts("a:1; b slots=2")), ElementsAre("a", "b"));
    EXPECT_THAT(hosts(""), IsEmpty());
    EXPECT_THAT(hosts(" \n# nobody\n"), IsEmpty());
}

TEST(HostList, WhatIsNotUnderstoodIsSaid) {
    EXPECT_THAT(refusal("a:2,b:2,a:1"), HasSubstr("the host a is named twice"));
    EXPECT_THAT(refusal("a slots=2\nb slot=3"), HasSubstr("host b: 'slot' is unknown; did you mean "
                                                          "'slots'?"));
    EXPECT_THAT(refusal("a slots=0"), HasSubstr("'0' is not a number of slots"));
    EXPECT_THAT(refusal("a slots=two"), HasSubstr("'two' is not a number of slots"));
    EXPECT_THAT(refusal("a:"), HasSubstr("'' is not a number of slots"));
    EXPECT_THAT(refusal("a slots=99999999999999999999"), HasSubstr("is not a number of slots"));
    EXPECT_THAT(refusal("a devices=0,x"), HasSubstr("'0,x' is not a list of numbers"));
    EXPECT_THAT(refusal("a devices=1,1"), HasSubstr("1 is named twice"));
    EXPECT_THAT(refusal("a b slots=2"), HasSubstr("host a: 'b' is not of the form slots=4"));
    EXPECT_THAT(refusal("a folder=\"/x"), HasSubstr("a quote in the list of hosts has no end"));
    EXPECT_THAT(refusal("a TOKEN=secret"), HasSubstr("host a: TOKEN is not passed on"));
    for (const char* bad : {"-oProxyCommand=x", "a,,b", "me@", "@b", "me@-x", "a/b,c"})
        EXPECT_THAT(refusal(bad), HasSubstr("is no name of a host")) << bad;
}

TEST(HostList, WhatIsGivenTwiceIsRefusedWithItsHostAndLine) {
    EXPECT_EQ(refusal("# two\na slots=2\nb slots=2 slots=3\n"),
              "line 3: host b: slots is given twice; leave one of them out");
    EXPECT_EQ(refusal("a slots=2 folder=/x folder=/x"),
              "host a: folder is given twice; leave one of them out");
    EXPECT_THAT(refusal("a:2 slots=3"), HasSubstr("host a: slots is given twice"));
    for (const char* twice : {"devices=0 devices=1", "interface=e interface=f", "data=/a data=/b",
                              "NCCL_DEBUG=INFO NCCL_DEBUG=WARN", "max_slots=2 max_slots=3"})
        EXPECT_THAT(refusal(std::string("a slots=1 ") + twice), HasSubstr("is given twice"));
    EXPECT_THAT(refusal("a folder=\"/x\ny\"\nb slot=2"), HasSubstr("line 3: host b:"));
}

TEST(HostList, AByteOrderMarkIsNoPartOfAName) {
    EXPECT_THAT(names(hosts("\xEF\xBB\xBFnode-a slots=2\nnode-b slots=2\n")),
                ElementsAre("node-a", "node-b"));
    EXPECT_THAT(names(hosts("\xEF\xBB\xBFnode-a:2,node-b")), ElementsAre("node-a", "node-b"));
    EXPECT_THAT(hosts("\xEF\xBB\xBF# nobody\n"), IsEmpty());
}

TEST(HostList, ComesBackFromItsText) {
    std::mt19937 random(7);
    const auto draw = [&](int most) { return static_cast<int>(random() % (most + 1)); };
    const std::string letters = "ab /;#=,@x\t";
    const auto word = [&] {
        std::string text;
        for (int i = draw(6); i > 0; --i) text += letters[random() % letters.size()];
        return text;
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<HostConfig> all;
        for (int i = 0; i <= draw(3); ++i) {
            HostConfig host;
            host.name = "h" + std::to_string(i);
            host.slots = draw(3);
            for (int d = draw(3); d > 0; --d) host.devices.push_back(d);
            host.interface = word(), host.folder = word(), host.data = word();
            if (draw(1) == 1) host.environment["NCCL_X"] = word();
            all.push_back(host);
        }
        ASSERT_EQ(hosts(toText(all)), all) << toText(all);
    }
}

TEST(HostList, SomeAreIncluded) {
    const auto all = hosts("a slots=4; me@b slots=4; c slots=2 devices=5,7");
    const auto some = included(all, "a@me@b:0,2").value();
    ASSERT_THAT(names(some), ElementsAre("a", "me@b"));
    EXPECT_EQ(some[0].slots, 4);
    EXPECT_EQ(some[1].slots, 2);
    EXPECT_THAT(some[1].devices, ElementsAre(0, 2));
    EXPECT_THAT(names(included(all, "b@c:7").value()), ElementsAre("me@b", "c"));
    EXPECT_THAT(included(all, "d").error().message, HasSubstr("'d' is none of the hosts"));
    EXPECT_THAT(included(all, "c:0").error().message, HasSubstr("host c has no slot 0"));
    EXPECT_THAT(included(all, "a@a").error().message, HasSubstr("named twice"));
    EXPECT_THAT(included(all, "a:").error().message, HasSubstr("not a list of numbers"));
}

TEST(HostList, SomeAreExcluded) {
    const auto all = hosts("a slots=2; b slots=3; c");
    const auto left = excluded(all, "a@b:1").value();
    ASSERT_THAT(names(left), ElementsAre("b", "c"));
    EXPECT_THAT(left[0].devices, ElementsAre(0, 2));
    EXPECT_THAT(names(excluded(all, "a:0,1@c").value()), ElementsAre("b"));
    EXPECT_THAT(excluded(all, "b:1@b:2").value()[1].devices, ElementsAre(0));
    EXPECT_THAT(excluded(all, "a@b@c").error().message, HasSubstr("no host is left"));
    EXPECT_THAT(excluded(all, "c:0").error().message, HasSubstr("give it slots=N"));
}

TEST(HostList, RanksAreFilledIntoSlotsOrSpread) {
    EXPECT_THAT(placeRanks({}, 3)->perHost, ElementsAre(3));
    EXPECT_THAT(placeRanks(hosts("a:4,b:4"), 6)->perHost, ElementsAre(4, 2));
    EXPECT_THAT(placeRanks(hosts("a:4,b:4"), 3)->perHost, ElementsAre(3));
    EXPECT_THAT(placeRanks(hosts("a,b"), 4)->perHost, ElementsAre(2, 2));
    EXPECT_THAT(placeRanks(hosts("a,b,c"), 5)->perHost, ElementsAre(2, 2, 1));
    EXPECT_THAT(placeRanks(hosts("a,b,c"), 2)->perHost, ElementsAre(1, 1));
    EXPECT_THAT(placeRanks(hosts("a:1,b"), 4)->perHost, ElementsAre(1, 3));
    EXPECT_THAT(placeRanks(hosts("a devices=0,1; b devices=2"), 3)->perHost, ElementsAre(2, 1));
    EXPECT_THAT(placeRanks(hosts("a:1,b:1"), 3).error().message,
                HasSubstr("3 ranks do not fit on 2 slots of 2 hosts"));
    EXPECT_EQ(slotsOf(hosts("a slots=3; b; c devices=1,2")), 6);
}

TEST(HostList, RulesNameWhatDoesNotFit) {
    RunConfig config;
    config.hosts = "a:1,b:1";
    EXPECT_TRUE(validate(config).has_value());
    EXPECT_THAT(placesOf(config).perHost, ElementsAre(1, 1));
    config.ranks = 3;
    EXPECT_THAT(validate(config).error().message, HasSubstr("use --ranks 2 or fewer"));
    config.ranks = 2;
    config.sendData = true;
    EXPECT_TRUE(validate(config).has_value());
    config.data = kSyntheticData;
    EXPECT_THAT(validate(config).error().message,
                HasSubstr("--data synthetic is made by each rank and lies in no file that "
                          "--send-data could send"));
    config.data.clear();
    config.sendData = false;
    config.ranks = 3;
    config.hosts = "a,a";
    EXPECT_THAT(validate(config).error().message, HasSubstr("--hosts: the host a is named twice"));
    config.hosts = "a,b";
    config.transport = Transport::kSharedMemory;
    EXPECT_THAT(validate(config).error().message, HasSubstr("joins ranks of one host"));
    config.transport = Transport::kGloo;
    EXPECT_TRUE(validate(config).has_value());
    config.linkGigabytesPerSecond = 1;
    EXPECT_THAT(validate(config).error().message,
                HasSubstr("leave out --link-gb-per-s or --hosts"));
    RunConfig here;
    here.deployLibTorch = true;
    EXPECT_THAT(validate(here).error().message, HasSubstr("--deploy-libtorch is about --hosts"));
    here = RunConfig();
    here.hosts = "/etc/my-hosts";  // read before the run
    EXPECT_TRUE(validate(here).has_value());
}

TEST(RankPlaces, RanksOfAHostFollowEachOther) {
    const RankPlaces places{{2, 1, 3}};
    EXPECT_EQ(places.hosts(), 3);
    EXPECT_EQ(places.ranks(), 6);
    EXPECT_FALSE(places.onOneHost());
    EXPECT_FALSE(places.even());
    EXPECT_EQ(places.firstOf(0), 0);
    EXPECT_EQ(places.firstOf(2), 3);
    const int hosts[] = {0, 0, 1, 2, 2, 2}, local[] = {0, 1, 0, 0, 1, 2};
    for (std::int32_t rank = 0; rank < 6; ++rank) {
        EXPECT_EQ(places.hostOf(rank), hosts[rank]) << rank;
        EXPECT_EQ(places.localRank(rank), local[rank]) << rank;
    }
}

TEST(RankPlaces, OfOneHostAreTheRanksThemselves) {
    const RankPlaces places = RankPlaces::onOneHost(4);
    EXPECT_TRUE(places.onOneHost());
    EXPECT_TRUE(places.even());
    EXPECT_EQ(places.ranks(), 4);
    EXPECT_EQ(places.hostOf(3), 0);
    EXPECT_EQ(places.localRank(3), 3);
}

}  // namespace
}  // namespace shardscope::run

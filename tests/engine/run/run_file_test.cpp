#include "engine/run/config/run_file.h"

#include "engine/run/config/run_commands.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace shardscope::run {
namespace {

using testing::HasSubstr;

class RunFile : public testing::Test {
protected:
    Result<RunConfig> read(const std::string& text) {
        std::ofstream(m_path) << text;
        return readRunFile(m_path, m_standard, [this](std::string_view) { return m_mayRun; });
    }
    std::string complaint(const std::string& text) {
        const auto config = read(text);
        EXPECT_FALSE(config.has_value()) << text;
        if (config) return "";
        EXPECT_EQ(config.error().code, ErrorCode::kUsage);
        return config.error().message;
    }
    void TearDown() override { std::filesystem::remove(m_path); }

    const RunConfig m_standard;
    bool m_mayRun = false;
    std::string m_path = testing::TempDir() + "run_file_test." +
                         testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
};

TEST_F(RunFile, SaysWhatTheRunIsCalled) {
    std::ofstream(m_path) << "name = \"wide batch\"\ntags = [\"a\", \"lr=3e-4\"]\n";
    RunLabel label;
    const auto none = [](std::string_view) { return false; };
    const auto config = readRunFile(m_path, m_standard, none, &label);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(*config, m_standard) << "which is no setting";
    EXPECT_EQ(label, (RunLabel{"wide batch", {"a", "lr=3e-4"}}));
    std::ofstream(m_path) << toToml(m_standard, {"\"wide\" batch", {}});
    RunLabel saved;
    const auto back = readRunFile(m_path, m_standard, none, &saved);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, m_standard);
    EXPECT_EQ(saved.name, "\"wide\" batch");
    EXPECT_TRUE(isSavedRunFile(m_path));
    EXPECT_THAT(complaint("tags = \"a\"\n"), HasSubstr(":1:8: tags must be a list"));
    EXPECT_THAT(complaint("tags = [1]\n"), HasSubstr(":1:9: tags must be text in quotes"));
    EXPECT_THAT(complaint("name = \"\"\n"), HasSubstr(":1:8: name is empty"));
}

TEST_F(RunFile, ComesBackAsItWasSaved) {
    RunConfig config;
    config.model = {"mine \\ \"quoted\"", 300, 64, 3, 4, 48};
    config.learningRate = 0.1 + 0.2;
    config.clip = 2;
    config.seed = 99;
    config.data = "some/text\nfile";
    config.capture = CaptureLevel::kLight;
    const auto back = read(toToml(config));
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, config);
}

TEST_F(RunFile, TakesAModelByNameOrChangesAPreset) {
    const auto named = read("model = 'small'\nsteps = 3\n");
    ASSERT_TRUE(named.has_value()) << named.error().message;
    EXPECT_EQ(named->model, *findModelPreset("small"));
    EXPECT_EQ(named->steps, 3);
    const auto changed = read("steps = 3\n[model]\nname = 'small'\nlayers = 2\n");
    ASSERT_TRUE(changed.has_value()) << changed.error().message;
    EXPECT_EQ(changed->model.layers, 2);
    EXPECT_EQ(changed->model.hidden, 768);
}

TEST_F(RunFile, SaysLineAndColumnOfASyntaxError) {
    EXPECT_THAT(complaint("steps = 3\nlr = = 2\n"), HasSubstr(":2:6: "));
}

TEST_F(RunFile, SaysLineAndColumnOfAnUnknownKey) {
    const std::string text = complaint("steps = 3\n  lerning_rate = 1.0\n");
    EXPECT_THAT(text, HasSubstr(":2:3: unknown key 'lerning_rate'"));
    EXPECT_THAT(text, HasSubstr("did you mean 'learning_rate'"));
}

TEST_F(RunFile, SaysLineAndColumnOfAWrongValue) {
    EXPECT_THAT(complaint("steps = 'three'\n"), HasSubstr(":1:9: steps: must be a whole number"));
    EXPECT_THAT(complaint("strategy = 'zero4'\n"), HasSubstr("did you mean 'zero1'"));
    EXPECT_THAT(complaint("model = 'shakespear'\n"), HasSubstr("did you mean 'shakespeare'"));
    EXPECT_THAT(complaint("model = 3\n"), HasSubstr("[model]"));
    EXPECT_THAT(complaint("steps = [1]\n"), HasSubstr("single value"));
    EXPECT_THAT(complaint("[model]\nwidth = 3\n"), HasSubstr(":2:1: unknown key 'model.width'"));
}

TEST_F(RunFile, TakesHostsAsATableInTheirOrder) {
    m_mayRun = true;  // node-b's folder
    const auto config = read(
        "steps = 3\n"
        "[hosts]\n"
        "node-b = { slots = 4, interface = 'eth1', folder = '/my scratch', data = '/data/x', "
        "devices = [0, 3], environment = { NCCL_DEBUG = 'INFO', GLOO_X = '' } }\n"
        "'me@node-a.site' = { slots = 2 }\n"
        "node-c = {}\n");
    ASSERT_TRUE(config.has_value()) << config.error().message;
    const auto hosts = parseHosts(config->hosts).value();
    ASSERT_EQ(hosts.size(), 3u);
    EXPECT_EQ(hosts[0].name, "node-b");
    EXPECT_EQ(hosts[0].slots, 4);
    EXPECT_EQ(hosts[0].interface, "eth1");
    EXPECT_EQ(hosts[0].folder, "/my scratch");
    EXPECT_EQ(hosts[0].data, "/data/x");
    EXPECT_EQ(hosts[0].devices, (std::vector{0, 3}));
    EXPECT_EQ(hosts[0].environment.at("NCCL_DEBUG"), "INFO");
    EXPECT_EQ(hosts[0].environment.at("GLOO_X"), "");
    EXPECT_EQ(hosts[1].name, "me@node-a.site");
    EXPECT_EQ(hosts[2].name, "node-c");
    EXPECT_EQ(hosts[2].slots, 0);
}

TEST_F(RunFile, TakesHostsAsTablesOfTheirOwn) {
    const auto config = read("[hosts.node-a]\nslots = 2\n[hosts.node-b]\ninterface = 'eth0'\n");
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_EQ(config->hosts, "node-a slots=2; node-b interface=eth0");
    const auto text = read("hosts = 'node-a:2,node-b'\n");
    ASSERT_TRUE(text.has_value()) << text.error().message;
    EXPECT_EQ(text->hosts, "node-a:2,node-b");
}

TEST_F(RunFile, SavesHostsAsATableWhereThereIsMoreToSay) {
    RunConfig config;
    config.hosts = "node-a:2,node-b:4";
    EXPECT_THAT(toToml(config), HasSubstr("\nhosts = \"node-a:2,node-b:4\"\n"));
    config.hosts =
        "zeta slots=2 devices=1,0 interface=eth1 folder=\"/my \\scratch\" data=/d "
        "NCCL_DEBUG=INFO; me@b.site; c slots=3";
    const std::string saved = toToml(config);
    EXPECT_THAT(saved, HasSubstr("[hosts]\nzeta = { slots = 2, devices = [1, 0], "));
    EXPECT_THAT(saved, HasSubstr("\"me@b.site\" = {}\n"));
    EXPECT_EQ(saved.find("\nhosts = "), std::string::npos);
    m_mayRun = true;  // zeta's folder
    const auto back = read(saved);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, config);
    config.hosts = "lists/of hosts";
    EXPECT_EQ(read(toToml(config)).value(), config);
}

TEST_F(RunFile, SaysLineAndColumnOfWhatIsWrongInHosts) {
    EXPECT_THAT(complaint("[hosts]\na = { slots = 2 }\nb = { slot = 2 }\n"),
                HasSubstr(":3:7: 'slot' is unknown; did you mean 'slots'?"));
    EXPECT_THAT(complaint("[hosts]\na = { slots = 'two' }\n"),
                HasSubstr(":2:15: slots must be a number"));
    EXPECT_THAT(complaint("[hosts]\na = { slots = 0 }\n"), HasSubstr(":2:15: slots must be"));
    EXPECT_THAT(complaint("[hosts]\na = { slots = 5000 }\n"),
                HasSubstr(":2:15: host a: '5000' is not a number of slots, 1 to 4096"));
    EXPECT_THAT(complaint("[hosts]\na = { devices = [0, 'x'] }\n"),
                HasSubstr(":2:21: devices must be a list of numbers"));
    EXPECT_THAT(complaint("[hosts]\na = { devices = [1, 1] }\n"),
                HasSubstr(":2:17: host a: 1 is named twice"));
    EXPECT_THAT(complaint("[hosts]\na = { devices = 1 }\n"), HasSubstr(":2:17: devices must be"));
    EXPECT_THAT(complaint("[hosts]\na = { environment = { SECRET = 'x' } }\n"),
                HasSubstr(":2:23: SECRET is not passed on"));
    EXPECT_THAT(complaint("[hosts]\na = { environment = 'x' }\n"),
                HasSubstr(":2:21: environment must be a table"));
    EXPECT_THAT(complaint("[hosts]\na = { data = 'a\"b' }\n"),
                HasSubstr(":2:14: data may not have a quote in it"));
    EXPECT_THAT(complaint("[hosts]\na = { folder = 3 }\n"), HasSubstr(":2:16: folder must be a"));
    EXPECT_THAT(complaint("[hosts]\na = 4\n"), HasSubstr(":2:5: host a must be a table as"));
    EXPECT_THAT(complaint("[hosts]\n'a b' = {}\n"), HasSubstr(":2:1: 'a b' is no name of a host"));
    EXPECT_THAT(complaint("[hosts]\n'a:4' = {}\n"), HasSubstr(":2:1: 'a:4' is no name"));
    EXPECT_THAT(complaint("[hosts]\n'-F' = {}\n"), HasSubstr(":2:1: '-F' is no name"));
    EXPECT_THAT(complaint("[hosts]\n"), HasSubstr(":1:1: [hosts] names no host"));
    EXPECT_THAT(complaint("steps = 3\n[steps]\n"), HasSubstr(":2:"));
}

TEST_F(RunFile, NamesNoProgramUnlessItMay) {
    EXPECT_THAT(complaint("steps = 3\n\nssh_command = \"sh -c 'id > PWNED'\"\n"),
                HasSubstr(":3:1: ssh_command runs a program (sh -c 'id > PWNED'), and a run file "
                          "may only name one with --allow-commands; give it as --ssh-command on "
                          "the command line, or add --allow-commands"));
    EXPECT_THAT(
        complaint("hosts = 'a:1; b NCCL_NET_PLUGIN=evil.so'\n"),
        HasSubstr(":1:1: NCCL_NET_PLUGIN of host b says what ranks load or write (evil.so)"));
    EXPECT_THAT(complaint("steps = 3\nhosts = 'a:1; b folder=/x'\n"),
                HasSubstr(":2:1: folder of host b holds the programs that run there (/x), and"));
    EXPECT_THAT(complaint("[hosts]\na = {}\nb = { folder = '/x' }\n"),
                HasSubstr(":3:5: folder of host b holds the programs"));
    EXPECT_THAT(complaint("[hosts]\na = { environment = { NCCL_TUNER_PLUGIN = 'x.so' } }\n"),
                HasSubstr("NCCL_TUNER_PLUGIN of host a"));
    m_mayRun = true;
    EXPECT_EQ(read("ssh_command = 'ssh -F x'\n")->sshCommand, "ssh -F x");
    EXPECT_TRUE(read("hosts = 'a NCCL_NET_PLUGIN=x'\n"));
    EXPECT_TRUE(read("hosts = 'a folder=/x'\n"));
}

TEST_F(RunFile, NamesTheLineOfAHostFile) {
    RunConfig config;
    config.hosts = "\xEF\xBB\xBFnode slots=2\n# node-b folder=/x\nnode-b:3 folder=/y\n";
    const auto commands = commandsOf(config);
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].host, "node-b");
    EXPECT_EQ(commands[0].value, "/y");
    const auto refused = checkCommands(
        config, [](std::string_view) { return false; }, "hosts", "a run file");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("hosts:3: folder of host node-b"));
}

TEST_F(RunFile, MayNameTheSshThatIsUsedAnyway) {
    RunConfig config;
    config.hosts = "a:1; b:2 NCCL_DEBUG=INFO";
    const auto back = read(toToml(config));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->sshCommand, "ssh");
}

TEST_F(RunFile, IsKnownByWhoWroteIt) {
    std::ofstream(m_path) << toToml({});
    EXPECT_TRUE(isSavedRunFile(m_path));
    std::ofstream(m_path) << "# my own\n" << toToml({});
    EXPECT_FALSE(isSavedRunFile(m_path));
    EXPECT_FALSE(isSavedRunFile(m_path + ".none"));
}

TEST_F(RunFile, SaysThatAFileIsMissing) {
    const auto config =
        readRunFile("/no/such/run.toml", m_standard, [](std::string_view) { return true; });
    ASSERT_FALSE(config.has_value());
    EXPECT_EQ(config.error().code, ErrorCode::kUnreadable);
    EXPECT_THAT(config.error().message, HasSubstr("/no/such/run.toml"));
}

}  // namespace
}  // namespace shardscope::run

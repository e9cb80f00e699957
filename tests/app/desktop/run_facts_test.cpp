#include "app/desktop/pages/overview/overview_model.h"
#include "engine/run/config/run_config.h"

#include <gtest/gtest.h>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

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

// The tab "Any program" of New run: what one types comes out as a command line, and what is wrong
// is a sentence at its field.
#include "app/desktop/pages/newrun/program_form.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::HasSubstr;

ProgramSettings settings(const QString& command) {
    ProgramSettings settings;
    settings.command = command;
    settings.folder = QDir::tempPath();
    return settings;
}

std::string problem(const ProgramSettings& settings, const char* key) {
    const ProgramPlan plan = planProgram(settings);
    const auto found = plan.problems.find(key);
    if (found == plan.problems.end()) return {};
    EXPECT_EQ(plan.reason.isEmpty(), false);
    return found->second.toStdString();
}

TEST(ProgramForm, TheLineBecomesWordsAndNoShellIsStarted) {
    const ProgramPlan plan = planProgram(settings(u"sh -c 'echo $HOME' \\\n \"two words\""_s));
    EXPECT_EQ(plan.words, QStringList({u"sh"_s, u"-c"_s, u"echo $HOME"_s, u"two words"_s}));
    EXPECT_TRUE(plan.reason.isEmpty()) << plan.reason.toStdString();
    EXPECT_EQ(plan.arguments.mid(plan.arguments.indexOf(u"--"_s) + 1), plan.words);
    EXPECT_THAT(plan.commandLine.toStdString(), HasSubstr("-- sh -c 'echo $HOME' 'two words'"));
}

TEST(ProgramForm, FolderEnvironmentAndCaptureAreOptionsBeforeIt) {
    ProgramSettings given = settings(u"true"_s);
    given.environment = u"A=1\n\n  B=two words\n"_s;
    given.stepRange = u"^step$"_s;
    given.name = u"wide batch"_s;
    given.recording.capture = CaptureLevel::kLight;
    given.recording.output = "/nowhere/x.sscope";
    const ProgramPlan plan = planProgram(given);
    EXPECT_TRUE(plan.reason.isEmpty()) << plan.reason.toStdString();
    const std::string line = plan.commandLine.toStdString();
    for (const char* part :
         {"--env A=1", "--env 'B=two words'", "--name 'wide batch'", "--capture light",
          "--output /nowhere/x.sscope", "--folder ", "--step-range "})
        EXPECT_THAT(line, HasSubstr(part));
    EXPECT_TRUE(line.ends_with("-- true")) << line;
    EXPECT_EQ(line.find("--stacks"), std::string::npos);
    given.stacks = true;
    given.recording.capture = CaptureLevel::kFull;
    EXPECT_TRUE(planProgram(given).arguments.contains(u"--stacks"_s));
}

TEST(ProgramForm, AnEmptyCommandIsAReasonAndNoFault) {
    const ProgramPlan plan = planProgram(settings(u" \n"_s));
    EXPECT_TRUE(plan.problems.empty());
    EXPECT_FALSE(plan.reason.isEmpty());
    EXPECT_TRUE(plan.title.isEmpty());
}

TEST(ProgramForm, WhatIsWrongIsASentenceAtItsField) {
    using namespace program_keys;
    EXPECT_THAT(problem(settings(u"python 'train.py"_s), kCommand), HasSubstr("is not closed"));
    EXPECT_THAT(problem(settings(u"python train.py | tee log"_s), kCommand), HasSubstr("a shell"));
    EXPECT_THAT(problem(settings(u"no-such-program-here x"_s), kCommand), HasSubstr("PATH"));
    EXPECT_THAT(problem(settings(u"./no-such-program"_s), kCommand), HasSubstr("There is no"));
    ProgramSettings given = settings(u"true"_s);
    given.folder = u"/no/such/folder"_s;
    EXPECT_THAT(problem(given, kFolder), HasSubstr("/no/such/folder"));
    given = settings(u"true"_s);
    given.environment = u"A=1\n2B=3"_s;
    EXPECT_THAT(problem(given, kEnvironment), HasSubstr("Line 2"));
    given = settings(u"true"_s);
    given.stepRange = u"step("_s;
    EXPECT_THAT(problem(given, kStepRange), HasSubstr("regular expression"));
    given = settings(u"true"_s);
    given.name = QString(201, u'x');
    EXPECT_THAT(problem(given, kName), HasSubstr("201 bytes"));
    given = settings(u"true"_s);
    given.stacks = true;
    given.recording.capture = CaptureLevel::kSteps;
    EXPECT_THAT(problem(given, kStacks), HasSubstr("level full"));
    given = settings(u"true"_s);
    given.recording.captureSteps = "20-10";
    EXPECT_FALSE(problem(given, "capture_steps").empty());
    EXPECT_TRUE(planProgram(settings(u"true"_s)).problems.empty());
}

TEST(ProgramForm, AProgramIsLookedForInItsFolder) {
    const QTemporaryDir folder;
    QFile script(folder.filePath(u"run"_s));
    ASSERT_TRUE(script.open(QIODevice::WriteOnly));
    script.write("#!/bin/sh\n");
    script.close();
    ProgramSettings given = settings(u"./run"_s);
    given.folder = folder.path();
    EXPECT_THAT(problem(given, program_keys::kCommand), HasSubstr("chmod +x"));
    script.setPermissions(script.permissions() | QFileDevice::ExeOwner | QFileDevice::ExeUser);
    EXPECT_EQ(problem(given, program_keys::kCommand), "");
}

TEST(ProgramForm, TheRecordingIsNamedAfterTheProgram) {
    const auto name = [](const QString& command) {
        return suggestedProgramRecording(planProgram(settings(command)), u"20260102"_s);
    };
    EXPECT_EQ(name(u"torchrun --nproc-per-node 2 train.py"_s), u"torchrun-train-20260102.sscope"_s);
    EXPECT_EQ(name({}), u"program-20260102.sscope"_s);
    EXPECT_EQ(name(u"'a/b c&d'"_s), u"b-c-d-20260102.sscope"_s);
}

TEST(ProgramForm, LevelsSayWhatTheyHold) {
    for (const CaptureLevel level : kAll<CaptureLevel>)
        EXPECT_FALSE(captureNoteOfProgram(level).isEmpty());
}

TEST(ProgramHistory, KeepsTheNewestAndEachOnce) {
    std::vector<EarlierProgram> programs;
    for (int i = 0; i < 25; ++i)
        programs = withNewest(std::move(programs), {u"run %1"_s.arg(i), u"/a"_s, u"full"_s, {}});
    ASSERT_EQ(programs.size(), kMostEarlierPrograms);
    EXPECT_EQ(programs.front().command, u"run 24"_s);
    programs = withNewest(std::move(programs), {u"run 20"_s, u"/a"_s, u"light"_s, {}});
    EXPECT_EQ(programs.size(), kMostEarlierPrograms);
    EXPECT_EQ(programs.front().capture, u"light"_s);
    const QTemporaryDir folder;
    const QString file = folder.filePath(u"desktop.ini"_s);
    EXPECT_TRUE(programHistory(file).empty());
    programs.front().command = u"sh -c 'a, b;\n\"c\"'"_s;
    keepProgramHistory(file, programs);
    EXPECT_EQ(programHistory(file), programs);
    keepProgramHistory({}, programs);
    EXPECT_TRUE(programHistory({}).empty());
}

}  // namespace
}  // namespace shardscope::desktop

// The New run page: every field of a run is set by hand and comes out as a RunConfig.
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/newrun/program_tab.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "engine/run/config/run_option.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/run_files.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <QWheelEvent>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::OptionValue;
using run::RunConfig;

class NewRunTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"newrun"_s);
        m_page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    }

    template <class Input>
    Input* input(const char* key) {
        auto* found = qobject_cast<Input*>(m_page->field(key)->input());
        EXPECT_NE(found, nullptr) << key;
        return found;
    }
    void choose(const char* key, const QString& word) {
        auto* box = input<QComboBox>(key);
        box->setCurrentIndex(box->findData(word));
        Q_EMIT box->activated(box->currentIndex());
    }
    void unfoldAll() {
        for (FoldSection* section : m_page->sections()) section->setOpen(true);
    }
    /// nullptr: there is none.
    QPushButton* button(const QString& text) {
        for (QPushButton* each : m_page->findChildren<QPushButton*>())
            if (each->text() == text) return each;
        return nullptr;
    }

    NewRunPage* m_page = nullptr;
};

TEST_F(NewRunTest, ARunMayHaveAName) {
    auto* line = m_page->name()->findChild<QLineEdit*>();
    ASSERT_NE(line, nullptr);
    const QStringList unnamed = m_page->prediction().arguments;
    EXPECT_FALSE(unnamed.contains(u"--name"_s));
    line->setText(u" first try "_s);
    EXPECT_EQ(m_page->prediction().arguments, unnamed + QStringList({u"--name"_s, u"first try"_s}));
    EXPECT_TRUE(m_page->prediction().commandLine.endsWith(u" --name 'first try'"_s))
        << m_page->prediction().commandLine.toStdString();
    m_page->fillIn(RunConfig());
    EXPECT_TRUE(m_page->prediction().arguments.contains(u"first try"_s)) << "it is no setting";
    line->setText(QString(300, u'x'));
    EXPECT_TRUE(m_page->reason().startsWith(u"The name has 300 bytes"_s))
        << m_page->reason().toStdString();
    EXPECT_EQ(m_page->name()->below(), m_page->reason());
}

/// The first of the list holds no text, which the project's own source tree would be.
TEST_F(NewRunTest, EveryPresetStartsWithTheDataOfTheForm) {
    const auto* box = input<QComboBox>("model.name");
    ASSERT_GE(box->findData(u"tiny"_s), 0);
    for (int i = 0; i < box->count(); ++i) {
        const QString preset = box->itemData(i).toString();
        if (preset != u"tiny"_s && preset != u"small"_s) continue;
        choose("model.name", preset);
        ASSERT_TRUE(QTest::qWaitFor([this] { return m_page->reason().isEmpty(); }, 10'000))
            << preset.toStdString() << ": " << m_page->reason().toStdString();
        EXPECT_TRUE(button(u"Start run"_s)->isEnabled());
        EXPECT_TRUE(m_page->prediction().commandLine.contains(u"--model %1"_s.arg(preset)));
        EXPECT_FALSE(m_page->prediction().arguments.contains(u"--data"_s));
    }
}

/// What a person would enter instead of `usual`.
OptionValue otherThan(const QWidget* input, const OptionValue& usual) {
    if (const auto* box = qobject_cast<const QComboBox*>(input)) {
        for (int i = 0; i < box->count(); ++i) {
            const std::string word = box->itemData(i).toString().toStdString();
            if (OptionValue(word) != usual) return word;
        }
    }
    if (std::holds_alternative<bool>(usual)) return !std::get<bool>(usual);
    if (std::holds_alternative<std::int64_t>(usual)) return std::get<std::int64_t>(usual) + 1;
    if (std::holds_alternative<double>(usual)) {
        const double number = std::get<double>(usual);
        return number == 0 ? 0.25 : number / 2;
    }
    return std::string("other");
}

void enter(QWidget* input, const OptionValue& value) {
    if (auto* box = qobject_cast<QComboBox*>(input)) {
        box->setCurrentIndex(box->findData(QString::fromStdString(std::get<std::string>(value))));
    } else if (auto* check = qobject_cast<QCheckBox*>(input)) {
        check->setChecked(std::get<bool>(value));
    } else if (auto* whole = qobject_cast<QSpinBox*>(input)) {
        whole->setValue(static_cast<int>(std::get<std::int64_t>(value)));
    } else if (auto* real = qobject_cast<QDoubleSpinBox*>(input)) {
        real->setValue(std::get<double>(value));
    } else {
        qobject_cast<QLineEdit*>(input)->setText(
            QString::fromStdString(std::get<std::string>(value)));
    }
}

/// A run in which `key` applies.
RunConfig runWith(std::string_view key) {
    RunConfig config;
    config.ranks = 4;
    if (key == "bucket_mb") config.strategy = run::Strategy::kDdpBucket;
    if (key == "compress" || key == "kept_fraction") config.strategy = run::Strategy::kDdpFlat;
    if (key == "kept_fraction") config.compression = run::Compression::kTopK;
    if (key == "shard_ranks") config.strategy = run::Strategy::kHsdp;
    if (key == "sequence") config.tensor = 2;
    if (key == "reduce") config.precision = run::Precision::kBFloat16;
    if (key == "loss_scale") config.precision = run::Precision::kFloat16;
    if (key == "share_device" || key == "device_capture" || key == "offload" || key == "graphs")
        config.device = run::Device::kCuda;
    if (key == "interface") config.transport = run::Transport::kGloo;
    if (key == "ssh_command" || key == "deploy_libtorch" || key == "send_data" ||
        key == "data_root" || key == "host_lease" || key == "spill" || key == "restart")
        config.hosts = "node-a,node-b";
    if (key == "link_latency_us") config.linkGigabytesPerSecond = 10;
    if (key == "checkpoint_every" || key == "keep_checkpoints" || key == "restart")
        config.checkpoint = "ckpt";
    if (key == "prompt" || key == "temperature") config.sampleTokens = 20;
    config.output = "run.sscope";
    return config;
}

TEST_F(NewRunTest, EveryFieldIsSetByHandAndReadBackAsARun) {
    int fields = 0;
    for (const run::RunOption& each : run::runOptions()) {
        BoundField* field = m_page->field(each.key);
        if (field == nullptr) continue;
        ++fields;
        const RunConfig before = runWith(each.key);
        m_page->setConfig(before);
        ASSERT_EQ(m_page->config(), before) << each.key;
        ASSERT_TRUE(field->input()->isEnabled()) << each.key;
        const OptionValue value = otherThan(field->input(), each.get(before));
        enter(field->input(), value);
        EXPECT_EQ(each.get(m_page->config()), value) << each.key;
        // A run file and the command line know it too.
        RunConfig expected = before;
        ASSERT_TRUE(each.set(expected, value)) << each.key;
        m_page->setConfig(expected);
        EXPECT_EQ(each.get(m_page->config()), value) << each.key;
    }
    const auto named = [](const run::RunOption& option) { return *option.name != '\0'; };
    EXPECT_EQ(fields, std::ranges::count_if(run::runOptions(), named));
}

TEST_F(NewRunTest, WhatThePartsOfAModelAreIsChosen) {
    choose("model.norm", u"rmsnorm"_s);
    choose("model.position", u"rope"_s);
    choose("model.ffn", u"swiglu"_s);
    input<QSpinBox>("model.ffn_width")->setValue(1024);
    input<QCheckBox>("model.tie_head")->setChecked(false);
    const run::ModelConfig model = m_page->config().model;
    EXPECT_EQ(model.norm, run::Norm::kRmsNorm);
    EXPECT_EQ(model.position, run::Position::kRope);
    EXPECT_EQ(model.ffn, run::FeedForward::kSwiglu);
    EXPECT_EQ(model.ffnWidth, 1024);
    EXPECT_FALSE(model.tieHead);
    for (const QString& flag : {u"--norm rmsnorm"_s, u"--position rope"_s, u"--ffn swiglu"_s,
                                u"--ffn-width 1024"_s, u"--no-tie-head"_s})
        EXPECT_TRUE(m_page->prediction().commandLine.contains(flag)) << flag.toStdString();

    choose("model.name", u"small"_s);
    EXPECT_EQ(m_page->config().model.hidden, 768);
    EXPECT_EQ(m_page->config().model.norm, run::Norm::kRmsNorm) << "a size is no part";
    EXPECT_EQ(m_page->config().model.ffnWidth, 0) << "the width is";
}

TEST_F(NewRunTest, TheFormHoldsEveryChoiceThatARunHas) {
    const std::pair<const char*, std::vector<QString>> words[] = {
        {"model.norm", {u"layernorm"_s, u"rmsnorm"_s}},
        {"schedule", {u"cosine"_s, u"linear"_s, u"constant"_s}},
        {"precision", {u"fp32"_s, u"tf32"_s, u"bf16"_s, u"fp16"_s}},
        {"offload", {u"none"_s, u"optimizer"_s, u"gradients"_s}},
        {"transport", {u"auto"_s, u"shared-memory"_s, u"gloo"_s}}};
    for (const auto& [key, all] : words) {
        auto* box = input<QComboBox>(key);
        ASSERT_EQ(box->count(), static_cast<int>(all.size())) << key;
        for (const QString& word : all) EXPECT_GE(box->findData(word), 0) << word.toStdString();
    }
    EXPECT_EQ(input<QComboBox>("strategy")->count(), static_cast<int>(kAll<run::Strategy>.size()));
}

TEST_F(NewRunTest, WhatAFieldCannotShowAndWhatHasNoFieldComesOutAsItCame) {
    RunConfig config = m_page->config();
    config.model.name = "my own";
    config.beta1 = 0.85;
    config.epsilon = 1e-9;
    config.seed = 9'000'000'000'000'000'000U;    // beyond the box
    config.learningRate = 0.000123456789012345;  // more digits than shown
    config.minimumLearningRate = 1e-7;
    config.prompt = "two\nlines\tand a \\";
    config.tokenizer = " spaces around ";
    m_page->setConfig(config);
    EXPECT_EQ(m_page->config(), config);
    EXPECT_EQ(input<QLineEdit>("prompt")->text(), u"two\\nlines\\tand a \\\\"_s);
    input<QSpinBox>("steps")->setValue(7);
    config.steps = 7;
    EXPECT_EQ(m_page->config(), config) << "only what was touched changes";
}

TEST_F(NewRunTest, ASavedRunFileIsReadBackThroughTheForm) {
    RunConfig config = m_page->config();
    config.strategy = run::Strategy::kDdpBucket;
    config.bucketMegabytes = 12.5;
    config.schedule = run::Schedule::kLinear;
    config.precision = run::Precision::kFloat16;
    config.lossScale = 1024;
    config.checkpoint = "ckpt";
    config.checkpointEvery = 5;
    config.sampleTokens = 50;
    m_page->setConfig(config);
    const std::string path = m_folder.filePath(u"run.toml"_s).toStdString();
    std::ofstream(path) << run::toToml(m_page->config());
    const auto read = run::readRunFile(path, RunConfig());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, config);
}

TEST_F(NewRunTest, FieldsThatDoNotApplyAreOffAndSayWhyInPlace) {
    for (const char* key :
         {"loss_scale", "kept_fraction", "interface", "checkpoint_every", "prompt", "bucket_mb"}) {
        BoundField* field = m_page->field(key);
        EXPECT_FALSE(field->input()->isEnabled()) << key;
        EXPECT_FALSE(field->below().isEmpty()) << key;
        EXPECT_TRUE(field->input()->toolTip().contains(field->below())) << key;
    }
    choose("precision", u"fp16"_s);
    EXPECT_TRUE(m_page->field("loss_scale")->input()->isEnabled());
    input<QLineEdit>("checkpoint")->setText(m_folder.filePath(u"ckpt"_s));
    EXPECT_TRUE(m_page->field("checkpoint_every")->input()->isEnabled());
    choose("strategy", u"single"_s);
    EXPECT_EQ(m_page->config().ranks, 1);
    EXPECT_TRUE(m_page->reason().isEmpty()) << m_page->reason().toStdString();
    choose("strategy", u"zero3"_s);
    EXPECT_EQ(m_page->config().ranks, 2) << "what was there before";
}

TEST_F(NewRunTest, GroupsAreSuggestedWhenTheirStrategyIsChosen) {
    input<QSpinBox>("ranks")->setValue(6);
    choose("strategy", u"hsdp"_s);
    EXPECT_EQ(m_page->config().shardRanks, 3);
    EXPECT_TRUE(m_page->reason().isEmpty()) << m_page->reason().toStdString();
}

TEST_F(NewRunTest, NumbersAreWrittenAsPeopleWriteThem) {
    auto* rate = input<RealBox>("learning_rate");
    EXPECT_EQ(rate->text(), u"0.0006"_s);
    rate->setFocus();
    rate->selectAll();
    QTest::keyClicks(rate, u"3e-4"_s);
    EXPECT_EQ(m_page->config().learningRate, 3e-4);
    QString half = u"3e-"_s, wrong = u"3x"_s;
    int position = 0;
    EXPECT_EQ(rate->validate(half, position), QValidator::Intermediate);
    EXPECT_EQ(rate->validate(wrong, position), QValidator::Invalid);
    for (const QString& text : {u"a\nb"_s, u"\\"_s, u"\\n"_s, u"\t\\\n"_s})
        EXPECT_EQ(unescaped(escaped(text)), text);
}

TEST_F(NewRunTest, ASettingIsFoundByItsNameItsFlagAndWhatItIs) {
    QLineEdit* find = m_page->finder();
    const auto shown = [this] {
        std::set<QString> keys;
        for (const FoldSection* section : m_page->sections())
            for (const BoundField* field : section->fields())
                if (field->isVisible())
                    keys.insert(QString::fromUtf8(field->key().data(), std::ssize(field->key())));
        return keys;
    };
    const std::set<QString> before = shown();
    find->setText(u"--steps"_s);
    EXPECT_TRUE(shown().contains(u"steps"_s));
    EXPECT_LT(shown().size(), 6U);
    find->setText(u"dropped from no setting"_s);
    EXPECT_TRUE(shown().empty());
    find->clear();
    EXPECT_EQ(shown(), before) << "folded as it was";
}

TEST_F(NewRunTest, TheClosestSettingIsFoundFirst) {
    const auto found = [this](const QString& text) {
        m_page->finder()->setText(text);
        std::vector<std::string> keys;
        for (const BoundField* field : m_page->found().fields()) keys.emplace_back(field->key());
        return keys;
    };
    const auto steps = found(u"step"_s);
    ASSERT_GT(steps.size(), 4U);
    EXPECT_EQ(steps.front(), "steps") << "its name begins with it";
    const auto at = [&](const char* key) {
        return std::distance(steps.begin(), std::find(steps.begin(), steps.end(), key));
    };
    EXPECT_LT(at("warmup_steps"), at("checkpoint_every")) << "one's key holds it";
    EXPECT_EQ(found(u"LR"_s).front(), "learning_rate") << "by its flag";
    EXPECT_EQ(found(u"rank"_s).front(), "ranks");
    m_page->finder()->clear();
    EXPECT_TRUE(m_page->found().fields().empty());
    EXPECT_TRUE(m_page->found().isHidden());
    const QWidget* basics = m_page->field("steps")->parentWidget();
    EXPECT_EQ(basics, m_page->field("ranks")->parentWidget()) << "back at its place";
}

/// What one changes first needs no scrolling, in the least window too.
TEST_F(NewRunTest, StepsAreOnTheFirstScreen) {
    m_window->resize(1024, 640);
    settle();
    for (const char* key : {"model.name", "strategy", "ranks", "steps", "batch"}) {
        const BoundField* field = m_page->field(key);
        EXPECT_FALSE(field->visibleRegion().isEmpty()) << key;
        EXPECT_EQ(field->visibleRegion().boundingRect().height(), field->height()) << key;
    }
}

TEST_F(NewRunTest, RarelyUsedSectionsAreFoldedAndSumUpWhatIsInThem) {
    std::set<QString> folded;
    for (const FoldSection* section : m_page->sections())
        if (!section->isOpen()) folded.insert(section->heading()->text());
    EXPECT_THAT(folded, testing::IsSupersetOf({u"Checkpoints"_s, u"Communication"_s}));
    EXPECT_FALSE(m_page->field("model.norm")->isVisible());
    choose("model.norm", u"rmsnorm"_s);
    for (FoldSection* section : m_page->sections()) {
        if (section->fields().front()->key() != "model.norm") continue;
        EXPECT_EQ(section->summary(), u"Norm RMSNorm"_s);
        section->heading()->setFocus();
        QTest::keyClick(section->heading(), Qt::Key_Space);
        EXPECT_TRUE(section->isOpen());
        EXPECT_TRUE(m_page->field("model.norm")->isVisible());
    }
}

TEST_F(NewRunTest, TabReachesEveryFieldInTheOrderOfThePage) {
    m_page->setConfig(runWith("bucket_mb"));
    unfoldAll();
    m_page->field("model.name")->input()->setFocus();
    std::vector<std::string> reached;
    for (int i = 0; i < 200; ++i) {
        const QWidget* now = QApplication::focusWidget();
        ASSERT_NE(now, nullptr);
        if (m_page->field(now->objectName().toStdString()) != nullptr)
            reached.push_back(now->objectName().toStdString());
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        if (QApplication::focusWidget() == m_page->field("model.name")->input()) break;
    }
    std::vector<std::string> expected;
    for (const FoldSection* section : m_page->sections()) {
        for (const BoundField* field : section->fields())
            if (field->input()->isEnabled()) expected.emplace_back(field->key());
    }
    EXPECT_EQ(reached, expected);
    EXPECT_GT(reached.size(), 40U);
}

TEST_F(NewRunTest, TheWheelScrollsThePageAndChangesNoField) {
    for (const char* key : {"steps", "strategy", "learning_rate"}) {
        QWidget* field = m_page->field(key)->input();
        field->clearFocus();
        const RunConfig before = m_page->config();
        QWheelEvent wheel(QPointF(5, 5), field->mapToGlobal(QPointF(5, 5)), {}, {0, 120},
                          Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(field, &wheel);
        EXPECT_EQ(m_page->config(), before) << key;
    }
}

TEST_F(NewRunTest, ACheckpointsSettingsRunNothing) {
    RunConfig evil;
    evil.batch = 3;
    evil.hosts = "localhost slots=2 NCCL_NET_PLUGIN=evil.so";
    evil.sshCommand = "sh -c evil";
    const QString folder = m_folder.filePath(u"ckpt"_s);
    writeCheckpoint(folder.toStdString(), evil, 40);
    QPushButton* take = button(u"Take its settings"_s);
    ASSERT_NE(take, nullptr);
    input<QLineEdit>("resume")->setText(folder);
    ASSERT_TRUE(QTest::qWaitFor([&] { return take->isEnabled(); }, 10'000));
    take->click();
    EXPECT_EQ(m_page->config().batch, 3);
    EXPECT_EQ(m_page->config().hosts, "");
    EXPECT_EQ(m_page->config().sshCommand, "ssh");
}

TEST_F(NewRunTest, AResumedRunTakesItsSettingsAndSaysOnlyWhatIsNew) {
    RunConfig first;
    first.model = {"custom", 300, 32, 2, 2, 32};
    first.batch = 3;
    first.keepGathered = true;
    const QString folder = m_folder.filePath(u"ckpt"_s);
    writeCheckpoint(folder.toStdString(), first, 40);
    QPushButton* take = button(u"Take its settings"_s);
    ASSERT_NE(take, nullptr);
    EXPECT_FALSE(take->isEnabled());
    input<QLineEdit>("resume")->setText(folder);
    ASSERT_TRUE(QTest::qWaitFor([&] { return take->isEnabled(); }, 10'000));
    EXPECT_TRUE(m_page->reason().contains(u"vocabulary 300 there, 256 here"_s))
        << m_page->reason().toStdString();
    take->click();
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return m_page->reason().contains(u"has done 40 steps"_s); }, 10'000));
    input<QSpinBox>("steps")->setValue(80);
    input<QCheckBox>("keep_gathered")->setChecked(false);
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_page->reason().isEmpty(); }, 10'000))
        << m_page->reason().toStdString();
    EXPECT_EQ(m_page->config().model, first.model);
    EXPECT_EQ(m_page->config().batch, 3);
    const QString line = m_page->prediction().commandLine;
    EXPECT_FALSE(line.contains(u"--batch"_s)) << "the checkpoint's";
    EXPECT_TRUE(line.contains(u"--steps 80"_s));
    EXPECT_TRUE(line.contains(u"--keep-gathered=false"_s)) << line.toStdString();
    m_window->setRecorder(m_folder.filePath(u"no-recorder"_s));  // what is asked of it matters
    QSignalSpy started(m_page, &NewRunPage::runRequested);
    for (QPushButton* button : m_page->findChildren<QPushButton*>())
        if (button->text() == u"Start run"_s) button->click();
    ASSERT_EQ(started.size(), 1);
    EXPECT_EQ(u"shardscope record "_s + started[0][1].toStringList().join(u' '), line)
        << "what is shown is what is started";
    EXPECT_TRUE(QTest::qWaitFor([this] { return !m_window->session().isGoing(); }, 10'000));
}

}  // namespace
}  // namespace shardscope::desktop

// The New run page with settings that cannot be: a sentence at the field and beside Start, which
// is off, and nothing cut off at any size.
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/legend.h"
#include "tests/app/desktop/run_files.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;

struct Wrong {
    const char* name;
    const char* key;  ///< of the field at which the sentence stands
    QString words;    ///< of the sentence: what is wrong
    QString remedy;   ///< and what to do
    void (*make)(RunConfig& config, const std::string& folder);
};

const std::vector<Wrong>& wrongs() {
    static const std::vector<Wrong> kAll = {
        {"hidden", "model.hidden", u"385 is not divisible by 6 heads"_s,
         u"choose “Hidden size” as a multiple of “Heads”"_s,
         [](RunConfig& c, const std::string&) { c.model.hidden = 385; }},
        {"heads", "model.heads", u"“Heads” is 0"_s, u"give a value from 1"_s,
         [](RunConfig& c, const std::string&) { c.model.heads = 0; }},
        {"bucket", "bucket_mb", u"“Bucket size” is 0"_s, u"give a value from"_s,
         [](RunConfig& c, const std::string&) {
             c.strategy = run::Strategy::kDdpBucket;
             c.bucketMegabytes = 0;
         }},
        {"groups", "shard_ranks", u"3 does not divide the 4 ranks"_s, u"choose a divisor"_s,
         [](RunConfig& c, const std::string&) {
             c.strategy = run::Strategy::kHsdp;
             c.ranks = 4;
             c.shardRanks = 3;
         }},
        {"rope", "model.position", u"rotates pairs"_s, u"so that it is even"_s,
         [](RunConfig& c, const std::string&) {
             c.model.position = run::Position::kRope;
             c.model.hidden = 390;
         }},
        {"rate", "learning_rate", u"Learning rate 0 must be above 0"_s, u"change “Learning rate”"_s,
         [](RunConfig& c, const std::string&) { c.learningRate = 0; }},
        {"heldback", "held_back", u"Nothing is held out"_s, u"use “Held out” 0.1"_s,
         [](RunConfig& c, const std::string&) { c.heldBack = 0; }},
        {"tf32", "precision", u"exists on GPUs only"_s, u"use “Precision” fp32"_s,
         [](RunConfig& c, const std::string&) { c.precision = run::Precision::kTf32; }},
        {"data", "data", u"There is no"_s, u"name a text file"_s,
         [](RunConfig& c, const std::string& folder) { c.data = folder + "/none"; }},
        {"checkpoint", "checkpoint", u"cannot be made"_s, u"name another one"_s,
         [](RunConfig& c, const std::string&) { c.checkpoint = "/dev/null/checkpoints"; }},
        {"resume", "resume", u"is no folder"_s, u"name a folder"_s,
         [](RunConfig& c, const std::string& folder) { c.resume = folder + "/no-such-folder"; }},
        {"vocabulary", "model.vocabulary", u"The tokenizer has 300 tokens"_s,
         u"give the model 300 or more"_s,
         [](RunConfig& c, const std::string& folder) {
             c.tokenizer = folder + "/tokenizer.json";
             writeTokenizer(c.tokenizer, 44);
         }},
        {"output", "output", u"is already there"_s, u"choose another name"_s,
         [](RunConfig& c, const std::string& folder) {
             c.output = folder + "/taken.sscope";
             std::ofstream(c.output) << "x";
         }}};
    return kAll;
}

class NewRunProblemsTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"newrun"_s);
        m_page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
        for (QPushButton* button : m_page->findChildren<QPushButton*>())
            if (button->text() == u"Start run"_s) m_start = button;
        ASSERT_NE(m_start, nullptr);
    }

    void show(const Wrong& wrong) {
        RunConfig config;
        wrong.make(config, m_folder.path().toStdString());
        m_page->setConfig(config);
        ASSERT_TRUE(QTest::qWaitFor([this] { return m_page->reason() != u"Checking the files…"_s; },
                                    10'000));
    }

    /// Labels and buttons of the page that show less than they say.
    QStringList cutOff() const {
        QStringList found;
        for (const QLabel* label : m_page->findChildren<QLabel*>()) {
            if (!label->isVisible() || label->text().isEmpty() || !label->pixmap().isNull())
                continue;
            const int needed = label->wordWrap() ? label->heightForWidth(label->width())
                                                 : label->sizeHint().height();
            const bool narrow = label->minimumSizeHint().width() > label->width();
            if (needed > label->height() || narrow) found << label->text();
        }
        for (const QAbstractButton* button : m_page->findChildren<QAbstractButton*>())
            if (button->isVisible() && button->sizeHint().width() > button->width())
                found << button->text();
        for (const QComboBox* box : m_page->findChildren<QComboBox*>()) {
            constexpr int kAround = 8 + 24 + 8;  // paddings and the arrow
            for (int i = 0; box->isVisible() && i < box->count(); ++i)
                if (box->fontMetrics().horizontalAdvance(box->itemText(i)) + kAround > box->width())
                    found << box->itemText(i);
        }
        for (const DetailList* list : m_page->findChildren<DetailList*>())
            if (list->height() < list->sizeHint().height()) found << u"the predicted step"_s;
        for (const Legend* legend : m_page->findChildren<Legend*>())
            if (legend->height() < legend->heightForWidth(legend->width()))
                found << u"the legend"_s;
        for (const QScrollArea* area : m_page->findChildren<QScrollArea*>())
            // The other tab gets its sizes when it is shown.
            if (area->isVisible() && area->widget()->width() > area->viewport()->width())
                found << u"a column"_s;
        return found;
    }

    NewRunPage* m_page = nullptr;
    QPushButton* m_start = nullptr;
};

TEST_F(NewRunProblemsTest, EachIsSaidAtItsFieldAndBesideStartWithWhatToDo) {
    EXPECT_TRUE(m_start->isEnabled());
    for (const Wrong& wrong : wrongs()) {
        show(wrong);
        const BoundField* field = m_page->field(wrong.key);
        for (const QString& sentence : {field->problem(), m_page->reason()}) {
            EXPECT_TRUE(sentence.contains(wrong.words))
                << wrong.name << ": " << sentence.toStdString();
            EXPECT_TRUE(sentence.contains(wrong.remedy))
                << wrong.name << ": " << sentence.toStdString();
        }
        EXPECT_TRUE(field->isVisible()) << wrong.name << ": its section is unfolded";
        EXPECT_TRUE(field->input()->property("invalid").toBool()) << wrong.name;
        EXPECT_FALSE(m_start->isEnabled()) << wrong.name;
        EXPECT_TRUE(m_start->toolTip().contains(wrong.words)) << wrong.name;
    }
    m_page->setConfig(RunConfig());
    EXPECT_TRUE(m_start->isEnabled()) << m_page->reason().toStdString();
    for (const Wrong& wrong : wrongs())
        EXPECT_TRUE(m_page->field(wrong.key)->problem().isEmpty()) << wrong.name;
}

TEST_F(NewRunProblemsTest, AllFieldsThatTheSentenceNamesAreMarked) {
    show(wrongs().front());
    for (const char* key : {"model.hidden", "model.heads"})
        EXPECT_TRUE(m_page->field(key)->input()->property("invalid").toBool()) << key;
    EXPECT_FALSE(m_page->field("model.layers")->input()->property("invalid").toBool());
    EXPECT_TRUE(m_page->field("model.heads")->problem().isEmpty()) << "said once";
}

TEST_F(NewRunProblemsTest, NothingIsCutOffAtAnySizeInEitherTheme) {
    for (const bool dark : {false, true}) {
        m_window->useTheme(dark);
        for (const QSize size : {QSize(1000, 640), QSize(1920, 1080)}) {
            m_window->resize(size);
            for (const Wrong& wrong : wrongs()) {
                for (FoldSection* section : m_page->sections()) section->setOpen(true);
                show(wrong);
                // Wrapped text is given its height once events went round.
                EXPECT_TRUE(QTest::qWaitFor([this] { return cutOff().isEmpty(); }, 5'000));
                EXPECT_EQ(cutOff().join(u" | "_s).toStdString(), "")
                    << wrong.name << " at " << size.width();
                m_page->field(wrong.key)->input()->setFocus();
                for (QScrollArea* area : m_page->findChildren<QScrollArea*>())
                    if (area->isAncestorOf(m_page->field(wrong.key)))
                        area->ensureWidgetVisible(m_page->field(wrong.key), 0, 60);
                keepPicture(u"newrun-%1-%2%3"_s.arg(QString::fromLatin1(wrong.name))
                                .arg(size.width())
                                .arg(dark ? u"-dark"_s : QString()));
            }
        }
    }
    m_window->useTheme(false);
}

TEST_F(NewRunProblemsTest, AWarningStartsAllTheSameAndIsNotCutOffEither) {
    RunConfig config;
    config.ranks = 64;
    config.threads = 64;
    m_page->setConfig(config);
    EXPECT_FALSE(m_page->prediction().warning.isEmpty());
    EXPECT_TRUE(m_start->isEnabled());
    for (const QSize size : {QSize(1920, 1080), QSize(1000, 640)}) {
        m_window->resize(size);
        EXPECT_TRUE(QTest::qWaitFor([this] { return cutOff().isEmpty(); }, 5'000));
        EXPECT_EQ(cutOff().join(u" | "_s).toStdString(), "") << size.width();
        keepPicture(u"newrun-warning-%1"_s.arg(size.width()));
    }
}

TEST_F(NewRunProblemsTest, ARunThatGoesKeepsAnotherFromStarting) {
    m_page->setBusy(true);
    EXPECT_FALSE(m_start->isEnabled());
    EXPECT_TRUE(m_page->reason().contains(u"A run is going"_s));
    m_page->setBusy(false);
    EXPECT_TRUE(m_start->isEnabled());
}

// Sentences about options in the words of the New run form.

TEST(RunOptionTexts, SentencesAreSaidInTheFormsWords) {
    EXPECT_EQ(inFormWords(u"choose {model.hidden} as a multiple of {model.heads}"_s),
              u"choose “Hidden size” as a multiple of “Heads”."_s);
    EXPECT_EQ(inFormWords(u"choose --hidden as a multiple of --heads"_s),
              u"choose “Hidden size” as a multiple of “Heads”."_s)
        << "those of the command line too";
    EXPECT_EQ(inFormWords(u"use --checkpoint-every 3, not --checkpointed"_s),
              u"use “Checkpoint every” 3, not --checkpointed."_s)
        << "whole words only";
}

TEST(RunOptionTexts, HelpIsASentence) {
    for (const run::RunOption& option : run::runOptions()) {
        EXPECT_TRUE(helpOf(option).endsWith(u'.')) << option.key;
        EXPECT_TRUE(helpOf(option)[0].isUpper() || !helpOf(option)[0].isLetter()) << option.key;
    }
    EXPECT_EQ(labelOf(*run::findRunOption("bucket_mb")), u"Bucket size, MB"_s);
    EXPECT_EQ(labelOf(*run::findRunOption("seed")), u"Seed"_s);
}

}  // namespace
}  // namespace shardscope::desktop

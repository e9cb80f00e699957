#include "app/desktop/pages/overview/overview_model.h"
#include "storage/sqlite/connection.h"
#include "tests/app/desktop/window_fixture.h"

#include <QFile>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Of a file that was made elsewhere: its name has a line break, and is not markup.
TEST_F(WindowTest, ANamedRunIsShownByItsName) {
    const QString path = writeSample();
    {
        auto database =
            storage::Connection::open(path.toStdString(), storage::Connection::Mode::kCreate);
        ASSERT_TRUE(database) << database.error().message;
        ASSERT_TRUE(database->execute(
            "INSERT INTO facts VALUES ('name', -1, -1, 'wide <b>' || char(10) || 'batch'),"
            " ('tag:lr=1', -1, -1, 'lr=1')"));
    }
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(path);
    ASSERT_TRUE(opened.wait(60'000));
    settle();
    EXPECT_TRUE(m_window->windowTitle().startsWith(u"wide <b> batch · sample.sscope · "_s))
        << m_window->windowTitle().toStdString();
    const auto facts = runFacts(*m_window->loader().recording());
    ASSERT_GT(facts.size(), 1u);
    EXPECT_EQ(facts[0], std::pair(u"name"_s, u"wide <b> batch"_s));
    EXPECT_EQ(facts[1], std::pair(u"tags"_s, u"lr=1"_s));
    QFile recent(m_folder.filePath(u"state/recent.json"_s));
    ASSERT_TRUE(recent.open(QIODevice::ReadOnly));
    EXPECT_TRUE(QString::fromUtf8(recent.readAll()).contains(u"\"wide <b> batch · "_s));
}

}  // namespace
}  // namespace shardscope::desktop

#include "app/desktop/pages/newrun/ssh_config.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSet>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// ssh takes 16 levels of Include as well.
constexpr int kMostLevels = 16;
constexpr qint64 kLargestFile = 1 << 20;

class Reader {
public:
    void read(const QString& path, int level) {
        QFile file(path);
        if (level > kMostLevels || file.size() > kLargestFile || !file.open(QFile::ReadOnly))
            return;
        while (!file.atEnd()) readLine(QString::fromUtf8(file.readLine()).trimmed(), path, level);
    }
    std::vector<HostGroup> take() { return std::move(m_groups); }

private:
    void readLine(const QString& line, const QString& path, int level) {
        static const QRegularExpression kBetween(u"[\\s=]+"_s);
        QStringList words = line.split(kBetween, Qt::SkipEmptyParts);
        if (words.size() < 2 || words[0].startsWith(u'#')) return;
        const QString key = words.takeFirst().toLower();
        if (key == u"include") {
            for (const QString& each : words) include(each.trimmed(), path, level);
        } else if (key == u"host") {
            add(words);
        }
    }
    void include(QString pattern, const QString& path, int level) {
        pattern.remove(u'"');
        if (pattern.startsWith(u"~/")) pattern = QDir::homePath() + pattern.mid(1);
        const QFileInfo where(QFileInfo(path).dir(), pattern);
        for (const QString& name :
             where.dir().entryList({where.fileName()}, QDir::Files, QDir::Name))
            read(where.dir().filePath(name), level + 1);
    }
    void add(const QStringList& words) {
        HostGroup group;
        for (QString name : words) {
            name.remove(u'"');
            const bool pattern =
                name.contains(u'*') || name.contains(u'?') || name.startsWith(u'!');
            if (pattern || name.isEmpty() || m_seen.contains(name)) continue;
            m_seen.insert(name);
            group.append(name);
        }
        if (!group.isEmpty()) m_groups.push_back(group);
    }

    std::vector<HostGroup> m_groups;
    QSet<QString> m_seen;
};

}  // namespace

std::vector<HostGroup> hostsOfSshConfig(const QString& path) {
    Reader reader;
    reader.read(path, 0);
    return reader.take();
}

QString sshConfigPath(const QString& sshCommand) {
    const QStringList words = sshCommand.split(u' ', Qt::SkipEmptyParts);
    const qsizetype named = words.indexOf(u"-F"_s);
    if (named >= 0 && named + 1 < words.size()) return words[named + 1];
    return QDir::homePath() + u"/.ssh/config"_s;
}

}  // namespace shardscope::desktop

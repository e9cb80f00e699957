#include "app/desktop/pages/timeline/marks.h"

#include "storage/recording/remote/remote_address.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>
#include <optional>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kVersion = 1;
/// What is longer was not written here.
constexpr qint64 kMostBytes = 16 << 20;

/// A link or somebody else's file is none of ours.
bool isOurs(const QString& path) {
    const QFileInfo file(path);
    return file.isFile() && !file.isSymLink() &&
           file.ownerId() == QFileInfo(u"/proc/self"_s).ownerId();
}

std::optional<QByteArray> read(const QString& path) {
    if (path.isEmpty() || !isOurs(path)) return std::nullopt;
    QFile file(path);
    if (file.size() > kMostBytes || !file.open(QIODevice::ReadOnly)) return std::nullopt;
    return file.readAll();
}

bool write(const QString& path, const QByteArray& json) {
    const QFileInfo target(path);
    if ((target.exists() || target.isSymLink()) && !isOurs(path)) return false;
    QSaveFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(json) == json.size() && file.commit();
}

}  // namespace

std::size_t addMark(Marks& marks, const Mark& mark) {
    const auto at =
        std::lower_bound(marks.begin(), marks.end(), mark.time,
                         [](const Mark& other, Timestamp time) { return other.time < time; });
    const auto place = static_cast<std::size_t>(at - marks.begin());
    if (at == marks.end() || at->time != mark.time) marks.insert(at, mark);
    return place;
}

QString newMarkName(const Marks& marks) {
    for (int number = 1;; ++number) {
        const QString name = u"mark %1"_s.arg(number);
        const bool taken = std::any_of(marks.begin(), marks.end(),
                                       [&](const Mark& mark) { return mark.name == name; });
        if (!taken) return name;
    }
}

QByteArray marksToJson(const QString& run, const Marks& marks) {
    QJsonArray list;
    for (const Mark& mark : marks) {
        QJsonObject object{{u"time_ns"_s, static_cast<qint64>(mark.time.ns)},
                           {u"name"_s, mark.name}};
        if (!mark.note.isEmpty()) object.insert(u"note"_s, mark.note);
        list.append(object);
    }
    return QJsonDocument(QJsonObject{{u"version"_s, kVersion}, {u"run"_s, run}, {u"marks"_s, list}})
        .toJson();
}

Marks marksFromJson(const QByteArray& json, const QString& run) {
    const QJsonObject all = QJsonDocument::fromJson(json).object();
    if (all["version"_L1].toInt() != kVersion || all["run"_L1].toString() != run) return {};
    Marks marks;
    const QJsonArray list = all["marks"_L1].toArray();
    for (const auto& each : list) {
        const QJsonObject object = each.toObject();
        if (!object["time_ns"_L1].isDouble()) continue;
        addMark(marks, {{object["time_ns"_L1].toInteger()},
                        object["name"_L1].toString(),
                        object["note"_L1].toString()});
    }
    return marks;
}

MarkFile::MarkFile(const QString& recording, const QString& userFolder) {
    const bool remote = storage::remote::isRemote(recording.toStdString());
    const QString path = remote ? recording : QFileInfo(recording).absoluteFilePath();
    if (!remote) m_beside = path + u".marks"_s;
    const QByteArray hash =
        QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha256).toHex();
    m_inUserFolder = userFolder + u"/%1.json"_s.arg(QString::fromLatin1(hash.left(32)));
}

Marks MarkFile::load(const QString& run) const {
    for (const QString& path : {m_beside, m_inUserFolder})
        if (const auto json = read(path))
            if (Marks marks = marksFromJson(*json, run); !marks.empty()) return marks;
    return {};
}

Result<void> MarkFile::save(const QString& run, const Marks& marks) const {
    if (marks.empty()) {
        for (const QString& path : {m_beside, m_inUserFolder})
            if (!path.isEmpty() && isOurs(path)) QFile::remove(path);
        return {};
    }
    const QByteArray json = marksToJson(run, marks);
    if (!m_beside.isEmpty() && write(m_beside, json)) {
        if (isOurs(m_inUserFolder)) QFile::remove(m_inUserFolder);
        return {};
    }
    QDir().mkpath(QFileInfo(m_inUserFolder).path());
    if (write(m_inUserFolder, json)) return {};
    return failure(ErrorCode::kFailure,
                   "marks cannot be kept: " + m_inUserFolder.toStdString() + " is not writable");
}

QString userMarkFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
           u"/shardscope/marks"_s;
}

}  // namespace shardscope::desktop

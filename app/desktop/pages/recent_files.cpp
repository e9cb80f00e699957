#include "app/desktop/pages/recent_files.h"

#include "app/desktop/loading/remote_hosts.h"
#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/format.h"
#include "storage/model/step_facts.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr std::size_t kMostFiles = 10;
constexpr int kTrendPoints = 64;

RecentFile fromJson(const QJsonObject& object) {
    RecentFile file{object.value("path"_L1).toString(),       object.value("title"_L1).toString(),
                    object.value("throughput"_L1).toString(), object.value("opened"_L1).toString(),
                    object.value("recorded"_L1).toString(),   {}};
    const QJsonArray loss = object.value("loss"_L1).toArray();
    for (const auto& value : loss) {
        file.loss.push_back({static_cast<double>(file.loss.size()), value.toDouble()});
    }
    return file;
}

QJsonObject toJson(const RecentFile& file) {
    QJsonArray loss;
    for (const QPointF& point : file.loss) loss.append(point.y());
    return {{u"path"_s, file.path},
            {u"title"_s, file.title},
            {u"throughput"_s, file.throughput},
            {u"opened"_s, file.opened},
            {u"recorded"_s, file.recorded},
            {u"loss"_s, loss}};
}

}  // namespace

RecentFiles::RecentFiles(const QString& storePath, QObject* parent)
    : QObject(parent), m_storePath(storePath) {
    load();
}

void RecentFiles::add(const OpenRecording& recording, const QString& now) {
    RecentFile file;
    file.path = lastingAddress(recording);
    file.title = recording.title();
    if (recording.report.tokensPerSecond) {
        file.throughput =
            ValueText{formatNumber(*recording.report.tokensPerSecond), u"tok/s"_s}.joined();
    }
    file.opened = now;
    if (const auto started = recording.summary.run.startedUnixNs; started > 0)
        file.recorded = QDateTime::fromMSecsSinceEpoch(started / 1'000'000).toString(Qt::ISODate);
    for (const MetricPoint& point : recording.summary.metrics) {
        if (point.name == "loss")
            file.loss.push_back({static_cast<double>(point.step.value), point.value});
    }
    file.loss = decimated(file.loss, kTrendPoints);
    put(std::move(file));
}

void RecentFiles::add(const run::RunStarted& started, const QString& now) {
    if (started.output.empty()) return;
    RecentFile file;
    file.path = QFileInfo(fromUtf8(started.output)).absoluteFilePath();
    file.title = started.command.empty()
                     ? u"%1 · %2 × %3"_s.arg(fromUtf8(started.model), fromUtf8(started.strategy))
                           .arg(started.ranks)
                     : fromUtf8(started.command);
    file.opened = file.recorded = now;
    put(std::move(file));
}

void RecentFiles::put(RecentFile file) {
    std::erase_if(m_files, [&](const RecentFile& other) { return other.path == file.path; });
    m_files.insert(m_files.begin(), std::move(file));
    if (m_files.size() > kMostFiles) m_files.resize(kMostFiles);
    save();
    Q_EMIT changed();
}

void RecentFiles::remove(const QString& path) {
    std::erase_if(m_files, [&](const RecentFile& file) { return file.path == path; });
    save();
    Q_EMIT changed();
}

void RecentFiles::load() {
    QFile file(m_storePath);
    if (m_storePath.isEmpty() || !file.open(QIODevice::ReadOnly)) return;
    const QJsonArray array = QJsonDocument::fromJson(file.readAll()).array();
    for (const auto& value : array) {
        RecentFile recent = fromJson(value.toObject());
        if (!recent.path.isEmpty()) m_files.push_back(std::move(recent));
    }
}

void RecentFiles::save() const {
    if (m_storePath.isEmpty()) return;
    QDir().mkpath(QFileInfo(m_storePath).absolutePath());
    QSaveFile file(m_storePath);
    if (!file.open(QIODevice::WriteOnly)) return;  // a list of names is not worth a message
    QJsonArray array;
    for (const RecentFile& recent : m_files) array.append(toJson(recent));
    file.write(QJsonDocument(array).toJson());
    file.commit();
}

}  // namespace shardscope::desktop

#include "app/desktop/models/write_file.h"

#include "storage/recording/file/output_file.h"

#include <QFile>

namespace shardscope::desktop {
namespace {

constexpr qint64 kFront = 65536;

bool isText(const std::string& path) {
    QFile file(QFile::decodeName(path.c_str()));
    return file.open(QIODevice::ReadOnly) && !file.read(kFront).contains('\0');
}

}  // namespace

std::string systemPath(const QString& path) {
    return QFile::encodeName(path).toStdString();
}

Result<void> writeFile(const storage::OutputRequest& may, const QByteArray& bytes) {
    return storage::writeOutput(may, {bytes.constData(), static_cast<std::size_t>(bytes.size())});
}

Result<void> writeText(const QString& path, const QByteArray& text) {
    return writeFile({systemPath(path), true, {"text", isText}}, text);
}

}  // namespace shardscope::desktop

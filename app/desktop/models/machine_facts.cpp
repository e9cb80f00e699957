#include "app/desktop/models/machine_facts.h"

#include <QFile>
#include <QSysInfo>
#include <algorithm>
#include <thread>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

MachineFacts thisMachine() {
    MachineFacts machine;
    machine.name = QSysInfo::machineHostName();
    machine.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    QFile info(u"/proc/meminfo"_s);
    if (!info.open(QIODevice::ReadOnly)) return machine;
    const auto lines = info.readAll().split('\n');
    for (const QByteArray& line : lines) {
        const auto words = line.simplified().split(' ');
        if (words.size() < 2) continue;
        if (words[0] == "MemTotal:") machine.totalMemory.count = words[1].toLongLong() * 1024;
        if (words[0] == "MemAvailable:") machine.freeMemory.count = words[1].toLongLong() * 1024;
    }
    return machine;
}

}  // namespace shardscope::desktop

// A language in which all texts are longer and cannot be mistaken for English: what is not in it
// was not translated, and what does not fit will not fit in German either.
#pragma once

#include <QTranslator>

namespace shardscope::desktop {

inline constexpr char16_t kOpens = u'‹', kCloses = u'›';

class PseudoLanguage : public QTranslator {
public:
    [[nodiscard]] bool isEmpty() const override { return false; }
    [[nodiscard]] QString translate(const char*, const char* source, const char* = nullptr,
                                    int = -1) const override {
        static constexpr QStringView kPlain{u"aceinouyACEINOUY"}, kAccented{u"åçéîñöüýÅÇÉÎÑÖÜÝ"};
        const QString text = QString::fromUtf8(source);
        if (text.trimmed().isEmpty()) return text;
        QString strange;
        bool isTag = false;
        for (qsizetype i = 0; i < text.size(); ++i) {
            isTag = text[i] == u'<' || (isTag && text[i] != u'>');
            const bool isPlace = i > 0 && (text[i - 1] == u'%' || text[i - 1] == u'&');
            const qsizetype letter = kPlain.indexOf(text[i]);
            strange += letter < 0 || isTag || isPlace ? text[i] : kAccented[letter];
        }
        // in words, so that it wraps as a text would
        const qsizetype more = text.size() * 4 / 10;
        QString longer;
        while (longer.size() < more)
            longer += text.contains(u' ') ? QStringLiteral(" lörem") : QStringLiteral("ö");
        return kOpens + strange + longer.left(std::max<qsizetype>(more, 1)) + kCloses;
    }
};

}  // namespace shardscope::desktop

// libFuzzer on tokenizer files: tokenizer.json, GPT-2's two files; what is accepted has to encode
// any bytes and give them back.
//
// First byte: which of the two. For GPT-2's the vocabulary ends at the first NUL.
#include "engine/tokens/encoder.h"
#include "engine/tokens/tokenizer.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace shardscope::tokens {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void useIt(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<std::uint32_t> ids, apart;
    Encoder encoder(tokenizer, AddedTokens::kRecognised, 64);
    encoder.encode(text, ids);
    const auto decoded = tokenizer.decode(ids);
    require(decoded && *decoded == text);
    const std::size_t at = tokenizer.boundary(text, text.size() / 2);
    encoder.encode(text.substr(0, at), apart);
    encoder.encode(text.substr(at), apart);
    require(apart == ids);
    const auto again = parseTokenizerJson(tokenizerJson(tokenizer.vocabulary()), "again");
    if (again) require(again->size() <= tokenizer.size());
}

void readIt(bool gpt2, std::string_view bytes) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    const auto tokenizer =
        gpt2 ? parseGpt2(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())), "it")
             : parseTokenizerJson(bytes, "it");
    if (tokenizer)
        useIt(*tokenizer, bytes);
    else
        require(!tokenizer.error().message.empty());
}

}  // namespace
}  // namespace shardscope::tokens

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    shardscope::tokens::readIt(data[0] % 2 == 1, bytes);
    return 0;
}

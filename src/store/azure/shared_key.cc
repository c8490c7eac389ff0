#include "store/azure/shared_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "airfreight/bytes.h"
#include "base/base64.h"
#include "base/digest.h"

namespace airfreight::azure {
namespace {

constexpr std::string_view kPrefix = "x-ms-";

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

// The service puts names in the order of a language, not of their bytes: '_' stands before digits
// and letters, and '-' counts for nothing (its own clients have tables for that, e.g.
// azure-storage-blob, _shared/authentication.py). Two names of ours never differ in '-' alone.
std::string OrderOf(std::string_view name) {
  std::string order;
  for (const char c : name) {
    if (c != '-') order += c == '_' ? '!' : c;
  }
  return order;
}

std::string CanonicalHeaders(const Headers& headers) {
  struct Line {
    std::string order;
    std::string text;
  };
  std::vector<Line> lines;
  for (const auto& [name, value] : headers) {
    const std::string lower = Lower(name);
    if (!lower.starts_with(kPrefix)) continue;
    lines.push_back({OrderOf(lower), fmt::format("{}:{}\n", lower, value)});
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.order < b.order; });
  std::string text;
  for (const Line& line : lines) text += line.text;
  return text;
}

std::string CanonicalResource(const SignedParts& parts, std::string_view account) {
  std::string text = fmt::format("/{}{}", account, parts.path);
  Query query = parts.query;
  std::sort(query.begin(), query.end());
  for (const auto& [name, value] : query) text += fmt::format("\n{}:{}", name, value);
  return text;
}

}  // namespace

std::string StringToSign(const SignedParts& parts, std::string_view account) {
  const auto header = [&](std::string_view name) { return parts.headers.Get(name); };
  // In the order of the specification. `Date` is empty beside x-ms-date, a length of 0 is no text.
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n\n{}\n{}\n{}\n{}\n{}\n{}{}", parts.method,
                     header("content-encoding"), header("content-language"),
                     parts.content_length > 0 ? std::to_string(parts.content_length) : "",
                     header("content-md5"), header("content-type"), header("if-modified-since"),
                     header("if-match"), header("if-none-match"), header("if-unmodified-since"),
                     header("range"), CanonicalHeaders(parts.headers),
                     CanonicalResource(parts, account));
}

Result<std::string> SharedKeyAuthorization(const SignedParts& parts, std::string_view account,
                                           const Secret& account_key) {
  auto decoded = Base64Decode(account_key.Reveal());
  if (!decoded || decoded->empty()) {
    return Fail(ErrorCode::kInvalid,
                "the storage account's key is no base64: copy it again from the portal, under "
                "\"Access keys\"");
  }
  const Secret key(*std::move(decoded));
  const Sha256Value signature =
      HmacSha256(AsBytes(key.Reveal()), AsBytes(StringToSign(parts, account)));
  return fmt::format("SharedKey {}:{}", account, Base64Encode(signature));
}

}  // namespace airfreight::azure

#include "store/s3/sigv4.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/hex.h"
#include "base/percent.h"
#include "base/time.h"
#include "store/checks.h"

namespace airfreight::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
// Bytes hashed between two looks at the caller's wishes: SHA-256 without hardware help does 200
// MB/s.
constexpr size_t kHashPiece = size_t{16} << 20;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Without blanks at the ends, with one for each run of them inside
// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
std::string CanonicalValue(std::string_view value) {
  std::string canonical;
  bool blank = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      blank = true;
      continue;
    }
    if (blank && !canonical.empty()) canonical += ' ';
    blank = false;
    canonical += c;
  }
  return canonical;
}

std::vector<Headers::Field> SortedHeaders(const Headers& headers) {
  std::vector<Headers::Field> sorted;
  for (const auto& [name, value] : headers) sorted.emplace_back(Lower(name), CanonicalValue(value));
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::string Names(const std::vector<Headers::Field>& sorted) {
  std::string names;
  for (const auto& [name, value] : sorted) {
    if (!names.empty()) names += ';';
    names += name;
  }
  return names;
}

std::string CanonicalText(const SignedParts& parts, const std::vector<Headers::Field>& sorted,
                          std::string_view names) {
  std::string text;
  text.reserve(1024);
  for (const std::string_view line :
       {std::string_view(parts.method), std::string_view(parts.canonical_uri)}) {
    text.append(line) += '\n';
  }
  text.append(CanonicalQuery(parts.query)) += '\n';
  for (const auto& [name, value] : sorted) {
    text.append(name) += ':';
    text.append(value) += '\n';
  }
  text += '\n';
  text.append(names) += '\n';
  return text.append(parts.payload_hash);
}

std::string Day(const SigningScope& scope) {
  return FormatBasicIso8601(scope.unix_seconds).substr(0, 8);
}

std::string ScopeText(const SigningScope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", Day(scope), scope.region, scope.service);
}

}  // namespace

Result<std::string> PayloadHash(const Body& body, const Context& context) {
  if (body.size() == 0) return std::string(kEmptyPayloadHash);
  if (std::string known = body.known_sha256(); !known.empty()) return known;
  Digester digester(DigestKind::kSha256);
  size_t unpolled = kHashPiece;  // Bytes since the last look; the first is before the first byte.
  for (ByteView rest : body.segments()) {
    while (!rest.empty()) {
      if (unpolled >= kHashPiece) {
        AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
        unpolled = 0;
      }
      const ByteView piece = rest.first(std::min(rest.size(), kHashPiece - unpolled));
      digester.Update(piece);
      unpolled += piece.size();
      rest = rest.subspan(piece.size());
    }
  }
  // The digest's text has its kind in front: "sha256:<hex>".
  const std::string digest = digester.Finish();
  std::string hex = digest.substr(digest.find(':') + 1);
  body.RememberSha256(hex);
  return hex;
}

std::string CanonicalQuery(const Query& query) {
  // Sorted in encoded form: that is how the server sees them.
  Query encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(PercentEncode(name, kUriUnreserved), PercentEncode(value, kUriUnreserved));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  }
  return text;
}

std::string SignedHeaderNames(const Headers& headers) { return Names(SortedHeaders(headers)); }

std::string CanonicalRequest(const SignedParts& parts) {
  const std::vector<Headers::Field> sorted = SortedHeaders(parts.headers);
  return CanonicalText(parts, sorted, Names(sorted));
}

std::string StringToSign(std::string_view canonical_request, const SigningScope& scope) {
  return fmt::format("{}\n{}\n{}\n{}", kAlgorithm, FormatBasicIso8601(scope.unix_seconds),
                     ScopeText(scope), HexEncode(Sha256(AsBytes(canonical_request))));
}

std::string Signature(const Secret& secret_access_key, std::string_view string_to_sign,
                      const SigningScope& scope) {
  const Secret seed("AWS4" + std::string(secret_access_key.Reveal()));
  Sha256Value key = HmacSha256(AsBytes(seed.Reveal()), AsBytes(Day(scope)));
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request"), string_to_sign}) {
    key = HmacSha256(key, AsBytes(part));
  }
  return HexEncode(key);
}

std::string Authorization(const SignedParts& parts, const Credentials& credentials,
                          const SigningScope& scope) {
  const std::vector<Headers::Field> sorted = SortedHeaders(parts.headers);
  const std::string names = Names(sorted);
  return fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", kAlgorithm,
                     credentials.access_key_id, ScopeText(scope), names,
                     Signature(credentials.secret_access_key,
                               StringToSign(CanonicalText(parts, sorted, names), scope), scope));
}

}  // namespace airfreight::s3

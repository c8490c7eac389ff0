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

// The time as a signature states it, the day in it, and what it is valid for.
struct ScopeTexts {
  explicit ScopeTexts(const SigningScope& scope) : time(FormatBasicIso8601(scope.unix_seconds)) {
    text.append(day()).append("/").append(scope.region).append("/").append(scope.service);
    text += "/aws4_request";
  }
  std::string_view day() const { return std::string_view(time).substr(0, 8); }

  std::string time;
  std::string text;
};

std::string TextToSign(std::string_view canonical_request, const ScopeTexts& scope) {
  std::string text(kAlgorithm);
  for (const std::string& line :
       {scope.time, scope.text, HexEncode(Sha256(AsBytes(canonical_request)))}) {
    text.append("\n").append(line);
  }
  return text;
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
  return TextToSign(canonical_request, ScopeTexts(scope));
}

Sha256Value SigningKeys::Get(const Secret& secret_access_key, std::string_view day,
                             std::string_view region, std::string_view service) {
  std::string scope;
  scope.append(day).append("/").append(region).append("/").append(service);
  const std::lock_guard lock(mutex_);
  if (scope_ == scope && secret_ == secret_access_key) return key_;
  const Secret seed("AWS4" + std::string(secret_access_key.Reveal()));
  Sha256Value key = HmacSha256(AsBytes(seed.Reveal()), AsBytes(day));
  for (const std::string_view part : {region, service, std::string_view("aws4_request")}) {
    key = HmacSha256(key, AsBytes(part));
  }
  key_ = key;
  secret_ = secret_access_key;
  scope_ = std::move(scope);
  return key;
}

std::string Authorization(const SignedParts& parts, const Credentials& credentials,
                          const SigningScope& scope, SigningKeys& keys) {
  const std::vector<Headers::Field> sorted = SortedHeaders(parts.headers);
  const std::string names = Names(sorted);
  const ScopeTexts texts(scope);
  const Sha256Value key =
      keys.Get(credentials.secret_access_key, texts.day(), scope.region, scope.service);
  const std::string signature =
      HexEncode(HmacSha256(key, AsBytes(TextToSign(CanonicalText(parts, sorted, names), texts))));
  std::string text(kAlgorithm);
  text.append(" Credential=").append(credentials.access_key_id).append("/").append(texts.text);
  text.append(",SignedHeaders=").append(names);
  return text.append(",Signature=").append(signature);
}

}  // namespace airfreight::s3

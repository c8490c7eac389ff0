#include "store/s3/bucket_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <pugixml.hpp>
#include <utility>

#include "base/time.h"
#include "http/curl_transport.h"
#include "http/environment.h"
#include "http/headers.h"
#include "store/checks.h"
#include "store/cloud/answers.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"
#include "store/s3/decoder.h"
#include "store/s3/request_builder.h"

namespace airfreight::s3 {
namespace {

// A configuration of 1,000 rules, of a few hundred bytes each.
constexpr uint64_t kMaxAnswer = uint64_t{4} << 20;
// Days are an int of S3's.
constexpr int64_t kMaxDays = INT32_MAX;

constexpr std::array<const char*, 4> kBlocks = {"BlockPublicAcls", "IgnorePublicAcls",
                                                "BlockPublicPolicy", "RestrictPublicBuckets"};

std::string AllBlocks() { return fmt::format("{}", fmt::join(kBlocks, " ")); }

Result<pugi::xml_document> Parse(std::string_view text, const char* root) {
  pugi::xml_document document;
  if (!ParseXml(text, document) || !document.child(root)) {
    return NotOfService("S3", fmt::format("it has no {}", root));
  }
  return document;
}

int64_t Days(const pugi::xml_node& action, const char* name) {
  const auto days = ParseDecimal(action.child(name).text().get());
  return days && *days <= static_cast<uint64_t>(kMaxDays) ? static_cast<int64_t>(*days) : 0;
}

void Soonest(int64_t days, int64_t* soonest) {
  if (days > 0 && (*soonest == 0 || days < *soonest)) *soonest = days;
}

// What only some of the objects below a prefix have.
bool IsNarrower(const pugi::xml_node& filter) {
  return filter.child("Tag") || filter.child("ObjectSizeGreaterThan") ||
         filter.child("ObjectSizeLessThan");
}

// The store's own words, shown in one line.
std::string Why(const Error& error) {
  return error.service_code.empty() ? error.message
                                    : fmt::format("{} ({})", error.message, error.service_code);
}

class Questions {
 public:
  Questions(S3Client& client, const S3Client::Clock& clock, const Context& context)
      : client_(client), clock_(clock), context_(context) {}

  // `none`: what the absence of a configuration means, and the code that says so.
  template <typename T, typename Decode>
  Result<Told<T>> Ask(std::string_view what, std::string_view absent, T none, Decode decode) {
    S3Request request = BuildAskBucket(what, client_.options());
    BufferSink answer(kMaxAnswer);
    auto response = client_.Execute(request, context_, &answer, &answer);
    if (!response) {
      const Error& error = response.error();
      if (!absent.empty() && error.service_code == absent) return Told<T>{std::move(none), {}};
      switch (error.code) {
        // No server for this question, or no permission: the others may be answered.
        case ErrorCode::kDenied:
        case ErrorCode::kUnsupported:
        case ErrorCode::kNotFound:
          return Told<T>{std::nullopt, Why(error)};
        default:
          if (error.http_status >= 400 && error.http_status < 500 &&
              error.service_code != "NoSuchBucket") {
            return Told<T>{std::nullopt, Why(error)};
          }
          return Fail(error);
      }
    }
    if (const auto date = ParseHttpDate(response->headers.Get("date"))) offset_ = *date - clock_();
    auto decoded = decode(AsText(answer.view()));
    if (!decoded) return Told<T>{std::nullopt, decoded.error().message};
    return Told<T>{*std::move(decoded), {}};
  }

  std::optional<int64_t> offset() const { return offset_; }

 private:
  S3Client& client_;
  const S3Client::Clock& clock_;
  const Context& context_;
  std::optional<int64_t> offset_;
};

}  // namespace

Result<std::string> DecodeVersioning(std::string_view text) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const pugi::xml_document document,
                              Parse(text, "VersioningConfiguration"));
  return ServersWords(document.child("VersioningConfiguration").child("Status").text().get());
}

Result<LifecycleFacts> DecodeLifecycle(std::string_view text, std::string_view folder) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const pugi::xml_document document,
                              Parse(text, "LifecycleConfiguration"));
  LifecycleFacts facts;
  for (const pugi::xml_node& rule : document.child("LifecycleConfiguration").children("Rule")) {
    if (std::string_view(rule.child("Status").text().get()) != "Enabled") continue;
    const pugi::xml_node filter = rule.child("Filter");
    const pugi::xml_node both = filter.child("And");
    if (IsNarrower(filter) || IsNarrower(both)) continue;
    // Rules of before 2016 have the prefix without a filter.
    std::string_view prefix = rule.child("Prefix").text().get();
    if (both) {
      prefix = both.child("Prefix").text().get();
    } else if (filter) {
      prefix = filter.child("Prefix").text().get();
    }
    if (!folder.starts_with(prefix)) continue;
    Soonest(Days(rule.child("AbortIncompleteMultipartUpload"), "DaysAfterInitiation"),
            &facts.abort_uploads);
    Soonest(Days(rule.child("NoncurrentVersionExpiration"), "NoncurrentDays"), &facts.old_versions);
    Soonest(Days(rule.child("Expiration"), "Days"), &facts.everything);
  }
  return facts;
}

Result<std::string> DecodePublicAccessBlock(std::string_view text) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const pugi::xml_document document,
                              Parse(text, "PublicAccessBlockConfiguration"));
  const pugi::xml_node blocks = document.child("PublicAccessBlockConfiguration");
  std::string off;
  for (const char* name : kBlocks) {
    if (blocks.child(name).text().as_bool()) continue;
    if (!off.empty()) off += ' ';
    off += name;
  }
  return off;
}

Result<std::string> DecodeLogging(std::string_view text) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const pugi::xml_document document,
                              Parse(text, "BucketLoggingStatus"));
  const pugi::xml_node enabled = document.child("BucketLoggingStatus").child("LoggingEnabled");
  return ServersWords(enabled.child("TargetBucket").text().get());
}

Result<BucketFacts> AskBucket(S3Client& client, const S3Client::Clock& clock,
                              const Context& context) {
  Questions questions(client, clock, context);
  BucketFacts facts;
  AIRFREIGHT_ASSIGN_OR_RETURN(facts.versioning,
                              questions.Ask<std::string>("versioning", "", {}, &DecodeVersioning));
  const std::string& prefix = client.uri().prefix;
  const std::string folder = prefix.empty() ? std::string() : prefix + "/";
  AIRFREIGHT_ASSIGN_OR_RETURN(
      facts.lifecycle, questions.Ask<LifecycleFacts>(
                           "lifecycle", "NoSuchLifecycleConfiguration", {},
                           [&](std::string_view text) { return DecodeLifecycle(text, folder); }));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      facts.open_to_public,
      questions.Ask<std::string>("publicAccessBlock", "NoSuchPublicAccessBlockConfiguration",
                                 AllBlocks(), &DecodePublicAccessBlock));
  AIRFREIGHT_ASSIGN_OR_RETURN(facts.access_log,
                              questions.Ask<std::string>("logging", "", {}, &DecodeLogging));
  facts.clock_offset = questions.offset();
  return facts;
}

Result<BucketFacts> AskBucket(const StoreUri& uri, const StoreSettings& settings,
                              const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(S3Options options, ParseS3Options(settings));
  auto transport = std::make_unique<CurlTransport>(options.transport);
  S3Client client(uri, std::move(options), std::move(transport), Environment::OfProcess(),
                  &UnixSecondsNow);
  return AskBucket(client, &UnixSecondsNow, context).map_error([&](Error error) {
    return Located(std::move(error), uri.Root(), {});
  });
}

}  // namespace airfreight::s3

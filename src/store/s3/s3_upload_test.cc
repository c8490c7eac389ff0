#include "store/s3/s3_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/test_server.h"
#include "store/s3/test_store.h"

namespace airfreight::s3 {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::ElementsAre;

constexpr char kCreated[] =
    "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><Bucket>bucket</Bucket>"
    "<UploadId>id/+ 1</UploadId></InitiateMultipartUploadResult>";
constexpr char kCompleted[] =
    "<CompleteMultipartUploadResult><ETag>&quot;whole-2&quot;</ETag>"
    "</CompleteMultipartUploadResult>";

std::string ErrorXml(const std::string& code) {
  return "<Error><Code>" + code + "</Code><Message>m</Message></Error>";
}

std::string Name(const SeenRequest& seen) {
  if (seen.method == "POST") {
    return seen.target.ends_with("?uploads=") ? "create" : "complete";
  }
  if (seen.method == "PUT") return "part";
  return seen.method == "DELETE" ? "abort" : seen.method;
}

// An upload in front of a server that answers as a good one does, where a test says nothing else.
class S3UploadTest : public ::testing::Test {
 protected:
  ScriptedReply Answer(const SeenRequest& seen) {
    const std::string name = Name(seen);
    if (special_.contains(name)) return special_[name](seen);
    if (name == "create") return ScriptedReply::Http(200, {}, kCreated);
    if (name == "part") return ScriptedReply::Http(200, {{"ETag", "\"<p&1>\""}}, "");
    if (name == "complete") return ScriptedReply::Http(200, {}, kCompleted);
    if (name == "abort") return ScriptedReply::Http(204, {}, "", false);
    return ScriptedReply::Http(404, {}, "");
  }

  Result<std::unique_ptr<PartUpload>> Start(StoreSettings settings = {}) {
    PutOptions put;
    put.content_type = "text/x";
    put.metadata = {{"write", "7f"}};
    put.condition = Condition::Absent();  // Not looked at.
    return StartS3Upload(OpenAt<S3Client>(server_, std::move(settings)), "k", put, context_);
  }

  // Two parts that were sent.
  std::vector<UploadedPart> PutTwo(PartUpload& upload) {
    std::vector<UploadedPart> parts;
    for (const int number : {1, 2}) {
      const auto part = upload.PutPart(number, parts.size() * 4, Body("part"), 5, context_);
      EXPECT_TRUE(part.has_value());
      if (part) parts.push_back(*part);
    }
    return parts;
  }

  Result<ObjectInfo> Run(const Condition& condition = {}) {
    auto upload = Start();
    if (!upload) return Fail(upload.error());
    return (*upload)->Complete(PutTwo(**upload), condition, context_);
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const SeenRequest& seen : server_.requests()) names.push_back(Name(seen));
    return names;
  }

  std::map<std::string, std::function<ScriptedReply(const SeenRequest&)>> special_;
  Context context_;
  TestServer server_{[this](const SeenRequest& seen) { return Answer(seen); }};
};

TEST_F(S3UploadTest, AnObjectInTwoPartsIsFourRequests) {
  const auto info = Run();
  ASSERT_TRUE(info.has_value()) << info.error().ToString();
  EXPECT_EQ(info->version, "\"whole-2\"");
  EXPECT_EQ(info->size, 8u);
  EXPECT_EQ(info->metadata, (Metadata{{"write", "7f"}}));
  EXPECT_THAT(Names(), ElementsAre("create", "part", "part", "complete"));
  const auto requests = server_.requests();
  EXPECT_EQ(requests[1].target, "/bucket/xcom/k?partNumber=1&uploadId=id%2F%2B%201");
  EXPECT_EQ(requests[1].body, "part");
  EXPECT_EQ(requests[3].target, "/bucket/xcom/k?uploadId=id%2F%2B%201");
  // Each tag as it came (k1LoW/serverless-s3-sync#103).
  EXPECT_EQ(requests[3].body,
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
            "<Part><PartNumber>1</PartNumber><ETag>\"&lt;p&amp;1&gt;\"</"
            "ETag><ChecksumCRC32C>AAAABQ==</ChecksumCRC32C></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"&lt;p&amp;1&gt;\"</"
            "ETag><ChecksumCRC32C>AAAABQ==</ChecksumCRC32C></Part>"
            "</CompleteMultipartUpload>");
}

TEST_F(S3UploadTest, ChecksumsAreSaidAtTheBeginningWithEachPartAndAtTheEnd) {
  ASSERT_TRUE(Run().has_value());
  const auto requests = server_.requests();
  EXPECT_EQ(requests[0].headers.Get("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(requests[1].headers.Get("x-amz-checksum-crc32c"), "AAAABQ==");
  EXPECT_FALSE(requests[3].headers.Find("x-amz-checksum-crc32c"));
}

TEST_F(S3UploadTest, AStoreThatRefusesChecksumsGetsNoneInAnyLaterRequest) {
  for (const char* where : {"create", "part"}) {
    special_ = {{where, [](const SeenRequest& seen) {
                   if (seen.headers.Find("x-amz-checksum-algorithm") ||
                       seen.headers.Find("x-amz-checksum-crc32c")) {
                     return ScriptedReply::Http(501, {}, ErrorXml("NotImplemented"));
                   }
                   return seen.method == "POST" ? ScriptedReply::Http(200, {}, kCreated)
                                                : ScriptedReply::Http(200, {{"ETag", "\"p\""}}, "");
                 }}};
    const size_t before = server_.requests().size();
    ASSERT_TRUE(Run().has_value()) << where;
    const auto requests = server_.requests();
    EXPECT_EQ(requests.size() - before, 5u) << where;
    EXPECT_FALSE(requests.back().body.find("Checksum") != std::string::npos) << where;
  }
}

// awslabs/mountpoint-s3#534: what describes the object belongs on the first request.
TEST_F(S3UploadTest, WhatDescribesTheObjectIsSaidOnceAtTheBeginning) {
  const auto upload = Start({{"sse", "aws:kms"}, {"request_payer", "requester"}});
  ASSERT_TRUE(upload.has_value());
  ASSERT_TRUE((*upload)->Complete(PutTwo(**upload), {}, context_).has_value());
  ASSERT_TRUE((*upload)->Abort(context_).has_value());
  const auto requests = server_.requests();
  EXPECT_EQ(requests[0].headers.Get("x-amz-server-side-encryption"), "aws:kms");
  EXPECT_EQ(requests[0].headers.Get("x-amz-meta-write"), "7f");
  EXPECT_EQ(requests[0].headers.Get("Content-Type"), "text/x");
  EXPECT_FALSE(requests[0].headers.Find("If-None-Match"));
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].headers.Get("x-amz-request-payer"), "requester");
    if (i == 0) continue;
    EXPECT_FALSE(requests[i].headers.Find("x-amz-server-side-encryption"));
    EXPECT_FALSE(requests[i].headers.Find("x-amz-meta-write"));
  }
}

TEST_F(S3UploadTest, TheConditionIsMetAtTheEndAndMayBeAnother) {
  special_["complete"] = [](const SeenRequest& seen) {
    if (seen.headers.Find("If-None-Match")) {
      return ScriptedReply::Http(412, {}, ErrorXml("PreconditionFailed"));
    }
    return ScriptedReply::Http(200, {}, kCompleted);
  };
  auto upload = Start();
  ASSERT_TRUE(upload.has_value());
  const auto parts = PutTwo(**upload);
  const auto absent = (*upload)->Complete(parts, Condition::Absent(), context_);
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kConditionFailed);
  EXPECT_TRUE((*upload)->Complete(parts, Condition::Version("\"v\""), context_).has_value());
  EXPECT_EQ(server_.requests().back().headers.Get("If-Match"), "\"v\"");
}

// scylladb/scylladb#20517, awslabs/aws-sdk-rust#1163: the status was sent before the outcome.
TEST_F(S3UploadTest, ACompletionThatHoldsAnErrorBehindBlanksIsAnError) {
  special_["complete"] = [](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, "  \n \n" + ErrorXml("InternalError"));
  };
  const auto info = Run();
  ASSERT_FALSE(info.has_value());
  EXPECT_EQ(info.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(info.error().retryable);
  EXPECT_EQ(info.error().key, "k");
}

TEST_F(S3UploadTest, BlanksBeforeACompletionAreNothing) {
  special_["complete"] = [](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, std::string(100'000, ' ') + kCompleted);
  };
  EXPECT_TRUE(Run().has_value());
}

TEST_F(S3UploadTest, ACompletionWithoutAWordIsAskedForAgainAndOneWithoutATagIsAnError) {
  special_["complete"] = [](const SeenRequest&) { return ScriptedReply::Http(200, {}, " \n"); };
  EXPECT_TRUE(Run().error().retryable);
  special_["complete"] = [](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, "<CompleteMultipartUploadResult/>");
  };
  EXPECT_EQ(Run().error().code, ErrorCode::kInternal);
}

// Given up, or completed by a request whose answer was lost: the caller looks at what lies there.
TEST_F(S3UploadTest, AnUploadThatIsGoneIsNotFoundWhateverTheConditionWas) {
  special_["complete"] = [](const SeenRequest&) {
    return ScriptedReply::Http(404, {}, ErrorXml("NoSuchUpload"));
  };
  for (const Condition& condition :
       {Condition::None(), Condition::Absent(), Condition::Version("\"v\"")}) {
    const auto gone = Run(condition);
    ASSERT_FALSE(gone.has_value());
    EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(gone.error().retryable);
  }
}

// If-Match on an object that is not there.
TEST_F(S3UploadTest, AVersionOfNothingIsAConditionThatFailed) {
  special_["complete"] = [](const SeenRequest&) {
    return ScriptedReply::Http(404, {}, ErrorXml("NoSuchKey"));
  };
  EXPECT_EQ(Run(Condition::Version("\"v\"")).error().code, ErrorCode::kConditionFailed);
}

TEST_F(S3UploadTest, AConflictOfTwoWritesMayPass) {
  special_["complete"] = [](const SeenRequest&) {
    return ScriptedReply::Http(409, {}, ErrorXml("ConditionalRequestConflict"));
  };
  const auto info = Run(Condition::Absent());
  ASSERT_FALSE(info.has_value());
  EXPECT_EQ(info.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(info.error().retryable);
  EXPECT_EQ(info.error().service_code, "ConditionalRequestConflict");
}

// minio/minio-go#737: an abort that fails leaves billed parts; one that finds nothing does not.
TEST_F(S3UploadTest, AnAbortThatFindsNothingIsASuccessAndAnyOtherFailureIsNone) {
  auto upload = Start();
  ASSERT_TRUE(upload.has_value());
  special_["abort"] = [](const SeenRequest&) {
    return ScriptedReply::Http(404, {}, ErrorXml("NoSuchUpload"));
  };
  EXPECT_TRUE((*upload)->Abort(context_).has_value());
  special_["abort"] = [](const SeenRequest&) { return ScriptedReply::Http(503, {}, ""); };
  const auto failed = (*upload)->Abort(context_);
  ASSERT_FALSE(failed.has_value());
  EXPECT_TRUE(failed.error().retryable);
}

TEST_F(S3UploadTest, APartIsConfirmedOnlyWithAnETag) {
  special_["part"] = [](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); };
  auto upload = Start();
  ASSERT_TRUE(upload.has_value());
  EXPECT_EQ((*upload)->PutPart(1, 0, Body("part"), 0, context_).error().code, ErrorCode::kInternal);
}

TEST_F(S3UploadTest, APartOfAnUploadThatIsGoneIsNotSentAgain) {
  special_["part"] = [](const SeenRequest&) {
    return ScriptedReply::Http(404, {}, ErrorXml("NoSuchUpload"));
  };
  auto upload = Start();
  ASSERT_TRUE(upload.has_value());
  const auto part = (*upload)->PutPart(1, 0, Body("part"), 0, context_);
  ASSERT_FALSE(part.has_value());
  EXPECT_EQ(part.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(part.error().retryable);
}

// versity/versitygw#961: a gateway that does not know the limits hides that AWS has them.
TEST_F(S3UploadTest, LimitsAreKeptHereWhateverTheServerTakes) {
  auto upload = Start();
  ASSERT_TRUE(upload.has_value());
  EXPECT_EQ((*upload)->PutPart(0, 0, Body("x"), 0, context_).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ((*upload)->PutPart(10'001, 0, Body("x"), 0, context_).error().code,
            ErrorCode::kTooLarge);
  const std::string megabyte(1 << 20, 'x');  // The same again and again: nothing of it is read.
  Body body;
  for (int i = 0; i <= 5 * 1024; ++i) body.Append(AsBytes(megabyte));
  EXPECT_EQ((*upload)->PutPart(1, 0, body, 0, context_).error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(Names(), ElementsAre("create"));
}

TEST_F(S3UploadTest, PartsWithAGapAreNotPutTogether) {
  auto upload = Start();
  ASSERT_TRUE(upload.has_value());
  for (const std::vector<UploadedPart>& parts :
       {std::vector<UploadedPart>{}, std::vector<UploadedPart>{{2, 0, 4, 0, "t"}},
        std::vector<UploadedPart>{{1, 0, 4, 0, "t"}, {2, 5, 4, 0, "t"}},
        std::vector<UploadedPart>{{1, 0, 4, 0, "t"}, {3, 4, 4, 0, "t"}}}) {
    EXPECT_EQ((*upload)->Complete(parts, {}, context_).error().code, ErrorCode::kInternal);
  }
  EXPECT_THAT(Names(), ElementsAre("create"));
}

TEST_F(S3UploadTest, AnUploadWithoutAnIdDoesNotBegin) {
  for (const char* text : {"", "no xml", "<InitiateMultipartUploadResult/>"}) {
    special_["create"] = [text](const SeenRequest&) { return ScriptedReply::Http(200, {}, text); };
    const auto upload = Start();
    ASSERT_FALSE(upload.has_value()) << text;
    EXPECT_EQ(upload.error().code, ErrorCode::kInternal);
  }
  special_["create"] = [](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, ErrorXml("SlowDown"));
  };
  EXPECT_EQ(Start().error().code, ErrorCode::kThrottled);
}

}  // namespace
}  // namespace airfreight::s3

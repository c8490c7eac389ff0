#include "py_store.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "calls.h"
#include "interruption.h"
#include "store/basic_store.h"
#include "store/checks.h"
#include "store/open.h"
#include "store/uri.h"

namespace airfreight {
namespace {

// What is asked of a store at a time: as a part of an upload, and few enough that a task which is
// told to stop need not wait long for a store that does not look at signals.
constexpr uint64_t kPiece = uint64_t{8} << 20;
// Text of an exception that goes into a message.
constexpr size_t kMaxText = 500;

// PyBUF_READ, which is no part of the limited API of Python 3.10, as PyMemoryView_FromMemory is
// (docs.python.org/3/c-api/memoryview.html).
constexpr int kForReading = 0x100;

thread_local PyObject* interruption = nullptr;  // Owned.

ErrorCode CodeOf(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    if (ErrorCodeName(static_cast<ErrorCode>(code)) == name) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::kInternal;
}

bool IsOf(nb::handle exception, const char* module, const char* name) {
  return nb::isinstance(exception, Module(module).attr(name));
}

std::string TextOf(nb::handle object) {
  return VisibleText(std::string_view(nb::cast<std::string>(nb::str(object))).substr(0, kMaxText));
}

// An exception of Airflow's is raised by signal handlers only: no store knows them.
bool IsTheTasks(nb::handle exception) {
  if (!PyObject_IsInstance(exception.ptr(), PyExc_Exception)) return true;
  const nb::object module = nb::getattr(exception.type(), "__module__", nb::str(""));
  return nb::isinstance<nb::str>(module) && nb::cast<std::string>(module).starts_with("airflow.");
}

}  // namespace

Error ErrorOf(nb::python_error& raised) {
  Error error;
  const nb::object exception = nb::borrow(raised.value());
  if (IsTheTasks(exception)) {
    Interruption::Keep(raised);
    error.code = ErrorCode::kCancelled;
    error.message = "the task was told to stop";
    return error;
  }
  const std::string type = nb::cast<std::string>(nb::getattr(raised.type(), "__name__"));
  error.message = fmt::format("{}: {}", type, TextOf(exception));
  const auto is = [&](PyObject* kind) {
    return PyErr_GivenExceptionMatches(exception.ptr(), kind);
  };
  if (IsOf(exception, "airfreight.errors", "Error")) {
    error.code = CodeOf(nb::cast<std::string>(exception.attr("code")));
    error.message = nb::cast<std::string>(exception.attr("message"));
    error.http_status = nb::cast<int>(exception.attr("http_status"));
    error.service_code = nb::cast<std::string>(exception.attr("service_code"));
    error.request_id = nb::cast<std::string>(exception.attr("request_id"));
    error.retryable = nb::cast<bool>(exception.attr("retryable"));
  } else if (IsOf(exception, "airfreight.stores", "ConditionFailed")) {
    error.code = ErrorCode::kConditionFailed;
  } else if (is(PyExc_FileNotFoundError)) {
    error.code = ErrorCode::kNotFound;
  } else if (is(PyExc_PermissionError)) {
    error.code = ErrorCode::kDenied;
  } else if (is(PyExc_TimeoutError) || is(PyExc_ConnectionError)) {
    error.code = ErrorCode::kUnavailable;
    error.retryable = true;
  } else if (is(PyExc_NotImplementedError)) {
    error.code = ErrorCode::kUnsupported;
  } else {
    error.code = ErrorCode::kInternal;
  }
  return error;
}

namespace {

// Runs `call` with the GIL; what it raises is the result's error.
template <typename Call>
auto InPython(const Context& context, const Call& call) -> decltype(call()) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  const nb::gil_scoped_acquire gil;
  try {
    return call();
  } catch (nb::python_error& raised) {
    return Fail(ErrorOf(raised));
  } catch (const std::exception& wrong) {  // A result that is none of what it has to be.
    return Fail(ErrorCode::kInternal,
                fmt::format("the store answered with what is no answer: {}", wrong.what()));
  }
}

// What a store in Python tells of an object: an `airfreight.stores.Info`.
ObjectInfo InfoOf(nb::handle told, std::string_view key) {
  ObjectInfo info;
  info.key = key;
  info.size = nb::cast<uint64_t>(told.attr("size"));
  info.version = nb::cast<std::string>(told.attr("version"));
  info.metadata = nb::cast<Metadata>(nb::dict(told.attr("metadata")));
  info.modified_unix = nb::cast<int64_t>(told.attr("modified"));
  return info;
}

// Read-only views of a body's segments, which end here: whoever kept one would read memory that is
// not there any more.
class Views {
 public:
  explicit Views(const Body& body) {
    for (const ByteView segment : body.segments()) {
      // (The memory is not written to: the view is for reading.)
      auto* data = reinterpret_cast<char*>(const_cast<std::byte*>(segment.data()));
      views_.append(nb::steal(
          PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(segment.size()), kForReading)));
    }
  }
  const nb::list& list() const { return views_; }

  Status Release() {
    bool kept = false;
    for (nb::handle view : views_) {
      const nb::object done = nb::steal(PyObject_CallMethod(view.ptr(), "release", nullptr));
      if (!done.is_valid()) {
        PyErr_Clear();
        kept = true;
      }
    }
    if (!kept) return {};
    return Fail(ErrorCode::kInternal,
                "the store keeps a view of the bytes after put() has returned; copy them instead");
  }

 private:
  nb::list views_;
};

// The contiguous bytes of an object of Python's, for as long as this lives.
class Contents {
 public:
  explicit Contents(nb::handle object) : bytes_(nb::cast<BytesLike>(object)) {}
  ByteView view() const { return View(bytes_); }

 private:
  BytesLike bytes_;
};

class PyStore final : public BasicStore {
 public:
  explicit PyStore(nb::object store)
      : BasicStore(nb::cast<std::string>(store.attr("root"))), store_(std::move(store)) {
    scheme_ = root().substr(0, root().find("://"));
    prefix_ = nb::cast<std::string>(store_.attr("prefix"));
    capabilities_.conditional_put = nb::cast<bool>(store_.attr("conditional_put"));
    capabilities_.conditional_remove = nb::cast<bool>(store_.attr("conditional_remove"));
    capabilities_.parallel = nb::cast<bool>(store_.attr("parallel"));
    capabilities_.versions = nb::cast<bool>(store_.attr("versions"));
    capabilities_.uploads = nb::cast<bool>(store_.attr("uploads"));
    if (const nb::object most = store_.attr("max_put_bytes"); !most.is_none()) {
      capabilities_.max_put_bytes = nb::cast<uint64_t>(most);
    }
  }
  PyStore(const PyStore&) = delete;
  PyStore& operator=(const PyStore&) = delete;
  ~PyStore() override {
    const nb::gil_scoped_acquire gil;
    store_.reset();
  }

  std::string_view scheme() const override { return scheme_; }
  Capabilities capabilities() const override { return capabilities_; }

 private:
  static tl::unexpected<Error> NoConditions() {
    return Fail(ErrorCode::kUnsupported, "the store has no conditions");
  }

  // The condition as `put` and `remove` take it: None, "" for absent, or a version.
  static nb::object ConditionOf(const Condition& condition) {
    if (condition.kind == Condition::Kind::kNone) return nb::none();
    if (condition.kind == Condition::Kind::kAbsent) return nb::str("");
    return nb::cast(condition.version);
  }

  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, prefix_));
    AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities_));
    const bool conditional = options.condition.kind != Condition::Kind::kNone;
    if (conditional && !capabilities_.conditional_put) return NoConditions();
    if (body.size() > capabilities_.max_put_bytes) {
      return Fail(ErrorCode::kTooLarge, fmt::format("{} bytes, and the store takes {}", body.size(),
                                                    capabilities_.max_put_bytes));
    }
    return InPython(context, [&]() -> Result<ObjectInfo> {
      Views views(body);
      ObjectInfo info;
      info.version = nb::cast<std::string>(
          store_.attr("put")(key, views.list(), nb::arg("metadata") = options.metadata,
                             nb::arg("content_type") = options.content_type,
                             nb::arg("condition") = ConditionOf(options.condition)));
      AIRFREIGHT_RETURN_IF_ERROR(views.Release());
      info.key = key;
      info.size = body.size();
      info.metadata = options.metadata;
      return info;
    });
  }

  Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, prefix_));
    std::optional<ObjectInfo> first;
    Range range;
    uint64_t done = 0;
    do {
      const uint64_t wanted =
          std::min(first ? range.length - done : options.length.value_or(kPiece), kPiece);
      Status read = InPython(context, [&]() -> Status {
        const nb::object answer =
            store_.attr("get")(key, first ? range.offset + done : options.offset, wanted);
        const ObjectInfo info = InfoOf(answer[0], key);
        if (!first) {
          if (!options.if_version.empty() && info.version != options.if_version) return Changed();
          AIRFREIGHT_ASSIGN_OR_RETURN(range, ClipRange(options, info.size));
          first = info;
          // (A sink may wait for a thread that waits for the GIL.)
          const nb::gil_scoped_release release;
          AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(info));
        } else if (info.version != first->version || info.size != first->size) {
          return Changed();
        }
        const Contents contents(answer[1]);
        const ByteView bytes = contents.view();
        const uint64_t due = std::min(wanted, range.length - done);
        if (bytes.size() != due) {
          Error error;
          error.code = ErrorCode::kUnavailable;
          error.message = fmt::format("the store gave {} bytes where it has {}", bytes.size(), due);
          error.retryable = true;
          return Fail(std::move(error));
        }
        done += due;
        const nb::gil_scoped_release release;
        return bytes.empty() ? Status() : sink.Write(bytes);
      });
      if (!read) return Fail(std::move(read).error());
    } while (done < range.length);
    return *std::move(first);
  }

  static tl::unexpected<Error> Changed() {
    return Fail(ErrorCode::kConditionFailed, "the object has changed");
  }

  Result<ObjectInfo> DoHead(std::string_view key, const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, prefix_));
    return InPython(context,
                    [&]() -> Result<ObjectInfo> { return InfoOf(store_.attr("head")(key), key); });
  }

  Status DoRemove(std::string_view key, const Condition& condition,
                  const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, prefix_));
    const bool conditional = condition.kind != Condition::Kind::kNone;
    if (conditional && !capabilities_.conditional_remove) return NoConditions();
    return InPython(context, [&]() -> Status {
      store_.attr("remove")(key, nb::arg("condition") = ConditionOf(condition));
      return {};
    });
  }

  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    return InPython(context, [&]() -> Result<ListPage> {
      const nb::object answer = store_.attr("list")(prefix, token, limit);
      ListPage page;
      for (nb::handle item : answer[0]) {
        page.objects.push_back(InfoOf(item[1], nb::cast<std::string>(item[0])));
        page.objects.back().metadata.clear();
      }
      page.next_token = nb::cast<std::string>(answer[1]);
      return page;
    });
  }

  // A method that is given a key and an id. (An upload's key may be a folder, or nothing.)
  Status OfKey(const char* method, std::string_view key, std::string_view id,
               const Context& context) {
    if (id.empty()) return Fail(ErrorCode::kInvalid, "what is to be removed has no id");
    const std::string_view path = key.substr(0, key.size() - key.ends_with('/'));
    if (!path.empty()) AIRFREIGHT_RETURN_IF_ERROR(CheckKey(path, prefix_));
    return InPython(context, [&]() -> Status {
      store_.attr(method)(key, id);
      return {};
    });
  }

  Result<VersionPage> DoListVersions(std::string_view prefix, std::string_view token, int limit,
                                     const Context& context) override {
    if (!capabilities_.versions) return BasicStore::DoListVersions(prefix, token, limit, context);
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    return InPython(context, [&]() -> Result<VersionPage> {
      const nb::object answer = store_.attr("list_versions")(prefix, token, limit);
      VersionPage page;
      for (nb::handle item : answer[0]) {
        VersionInfo version;
        version.object = InfoOf(item.attr("info"), nb::cast<std::string>(item.attr("key")));
        version.object.metadata.clear();
        version.id = nb::cast<std::string>(item.attr("id"));
        version.latest = nb::cast<bool>(item.attr("latest"));
        version.removal = nb::cast<bool>(item.attr("removal"));
        page.versions.push_back(std::move(version));
      }
      page.next_token = nb::cast<std::string>(answer[1]);
      return page;
    });
  }

  Result<ObjectInfo> DoHeadVersion(std::string_view key, std::string_view id,
                                   const Context& context) override {
    if (!capabilities_.versions) return BasicStore::DoHeadVersion(key, id, context);
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, prefix_));
    return InPython(context, [&]() -> Result<ObjectInfo> {
      return InfoOf(store_.attr("head_version")(key, id), key);
    });
  }

  Status DoRemoveVersion(std::string_view key, std::string_view id,
                         const Context& context) override {
    if (!capabilities_.versions) return BasicStore::DoRemoveVersion(key, id, context);
    return OfKey("remove_version", key, id, context);
  }

  Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override {
    if (!capabilities_.uploads) return BasicStore::DoListUploads(prefix, token, limit, context);
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    return InPython(context, [&]() -> Result<UploadPage> {
      const nb::object answer = store_.attr("list_uploads")(prefix, token, limit);
      UploadPage page;
      for (nb::handle item : answer[0]) {
        page.uploads.push_back({nb::cast<std::string>(item.attr("key")),
                                nb::cast<std::string>(item.attr("id")),
                                nb::cast<int64_t>(item.attr("started"))});
      }
      page.next_token = nb::cast<std::string>(answer[1]);
      return page;
    });
  }

  Status DoAbortUpload(std::string_view key, std::string_view id, const Context& context) override {
    if (!capabilities_.uploads) return BasicStore::DoAbortUpload(key, id, context);
    return OfKey("abort_upload", key, id, context);
  }

  nb::object store_;
  std::string scheme_;
  std::string prefix_;
  Capabilities capabilities_;
};

}  // namespace

void Interruption::Keep(nb::python_error& error) {
  Py_XDECREF(interruption);
  interruption = nb::borrow(error.value()).release().ptr();
}

bool Interruption::IsThere() { return interruption != nullptr; }

void Interruption::RaiseIfThere() {
  if (interruption == nullptr) return;
  const nb::object exception = nb::steal(std::exchange(interruption, nullptr));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

Result<std::shared_ptr<ObjectStore>> WrapStore(nb::object store, const StoreSettings& settings) {
  RetryOptions retry;
  StoreSettings rest = settings;
  AIRFREIGHT_ASSIGN_OR_RETURN(const double seconds,
                              TakeSeconds(rest, "store", "retry_timeout", retry.timeout.count()));
  retry.timeout = std::chrono::duration<double>(seconds);
  return InLayers(std::make_shared<PyStore>(std::move(store)), retry, RetryHooks::Real());
}

Result<std::shared_ptr<ObjectStore>> OpenAnyStore(const std::string& uri,
                                                  const StoreSettings& settings) {
  const std::string scheme = uri.substr(0, uri.find("://"));
  const nb::object stores = Module("airfreight.stores");
  if (!nb::cast<bool>(stores.attr("is_python")(scheme))) return OpenStore(uri, settings);
  try {
    StoreSettings own = settings;
    own.erase("retry_timeout");
    return WrapStore(stores.attr("open_store")(uri, own), settings);
  } catch (nb::python_error& raised) {
    return Fail(ErrorOf(raised));
  }
}

}  // namespace airfreight

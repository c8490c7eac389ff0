#pragma once

/// \file
/// \brief A faultless service with a script in front of it.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "faults/case.h"
#include "faults/fake_service.h"
#include "faults/fault_server.h"

namespace airfreight::faults {

/// Whether `request` is what `rule` asks for. With `whole_query` it has no parameter beyond it.
bool Matches(const RequestRule& rule, const Request& request, bool whole_query);

/// \brief Answers each request by the first step that matches it and is not used up, and what no
/// step matches as a faultless service does.
///
/// Threads: called from the server's connections, several at once.
class ScriptedServer final : public Responder {
 public:
  /// \param service answers what no step does.
  /// \param on_credentials called with the access key id of a step that changes the file.
  ScriptedServer(std::vector<Step> script, std::unique_ptr<FakeService> service,
                 std::function<void(const std::string&)> on_credentials);

  bool OnHead(size_t number, const Request& request) override;
  Answer OnRequest(size_t number, const Request& request) override;

  /// The script plays no part before this.
  void Start();
  /// Steps that were asked for less often than they say, one line each.
  std::string Unused() const;
  const FakeService& service() const { return *service_; }

 private:
  const std::vector<Step> script_;
  const std::unique_ptr<FakeService> service_;
  const std::function<void(const std::string&)> on_credentials_;
  mutable std::mutex mutex_;
  bool started_ = false;
  std::vector<int> used_;            // Of each step.
  std::map<size_t, size_t> chosen_;  // The step of a request's number.
};

}  // namespace airfreight::faults

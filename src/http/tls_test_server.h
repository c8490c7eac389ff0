#pragma once

/// \file
/// \brief An HTTPS server inside the test's own process, with a certificate of its own making. For
/// tests only.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace airfreight::testing {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

/// \brief Answers each request on a free port of 127.0.0.1 with 200 and "ok".
///
/// Threads: one, which serves one connection after another. Ownership: the destructor ends it and
/// removes the certificate's file.
class TlsTestServer {
 public:
  /// \param names of the certificate, as OpenSSL writes them: "IP:127.0.0.1".
  explicit TlsTestServer(const char* names, int newest_version = TLS1_3_VERSION)
      : key_(EVP_EC_gen("P-256")), certificate_(X509_new()), context_(SSL_CTX_new(TLS_method())) {
    MakeCertificate(names);
    // Whatever the system allows: what is tested is what the client refuses.
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), newest_version);
    SSL_CTX_set_cipher_list(context_.get(), "ALL:@SECLEVEL=0");
    SSL_CTX_use_certificate(context_.get(), certificate_.get());
    SSL_CTX_use_PrivateKey(context_.get(), key_.get());
    Listen();
    thread_ = std::thread([this] { Serve(); });
  }
  TlsTestServer(const TlsTestServer&) = delete;
  TlsTestServer& operator=(const TlsTestServer&) = delete;
  ~TlsTestServer() {
    stopping_ = true;
    thread_.join();
    close(listener_);
    std::filesystem::remove(ca_file_);
  }

  uint16_t port() const { return port_; }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/"; }
  /// A file with the certificate, to be trusted.
  const std::string& ca_file() const { return ca_file_; }
  /// Requests that came through.
  int requests() const { return requests_; }

 private:
  static constexpr int kTick = 10;  // Milliseconds after which the thread looks at stopping_.

  void MakeCertificate(const char* names) {
    constexpr long kDay = 24L * 60 * 60;
    X509* const certificate = certificate_.get();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
    X509_gmtime_adj(X509_getm_notAfter(certificate), kDay);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key_.get());
    AddExtension(NID_basic_constraints, "critical,CA:TRUE");
    AddExtension(NID_subject_alt_name, names);
    X509_sign(certificate, key_.get(), EVP_sha256());

    std::string path = (std::filesystem::temp_directory_path() / "airfreight_ca_XXXXXX").string();
    const int descriptor = mkstemp(path.data());
    std::FILE* const file = descriptor < 0 ? nullptr : fdopen(descriptor, "w");
    if (file == nullptr || PEM_write_X509(file, certificate) != 1) std::abort();
    std::fclose(file);
    ca_file_ = path;
  }

  void AddExtension(int kind, const char* value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    if (extension == nullptr || X509_add_ext(certificate_.get(), extension, -1) != 1) std::abort();
    X509_EXTENSION_free(extension);
  }

  void Listen() {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 8) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
  }

  void Serve() {
    // A client that breaks off must not end the test.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    while (!stopping_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (poll(&waiting, 1, kTick) <= 0) continue;
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) continue;
      Answer(peer);
      close(peer);
    }
  }

  void Answer(int peer) {
    // A client that says nothing must not hold up the end of the test.
    const timeval patience{5, 0};
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    const std::unique_ptr<SSL, FreeWith<SSL_free>> tls(SSL_new(context_.get()));
    SSL_set_fd(tls.get(), peer);
    if (SSL_accept(tls.get()) != 1) return;
    std::string head;
    char buffer[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const int count = SSL_read(tls.get(), buffer, sizeof(buffer));
      if (count <= 0) return;
      head.append(buffer, static_cast<size_t>(count));
    }
    ++requests_;
    constexpr std::string_view kAnswer =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    SSL_write(tls.get(), kAnswer.data(), static_cast<int>(kAnswer.size()));
    SSL_shutdown(tls.get());
  }

  std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>> key_;
  std::unique_ptr<X509, FreeWith<X509_free>> certificate_;
  std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>> context_;
  std::string ca_file_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace airfreight::testing

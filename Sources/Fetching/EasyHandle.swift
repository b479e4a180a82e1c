import Glibc
import CHearthCurl
import HearthEventLoop

/// One transfer of libcurl, with what is the same for all of Hearth's: certificates are verified, one protocol is
/// spoken, with the host itself and over a connection of its own, and everything ends in time. An option that libcurl
/// does not know is an error, so no safeguard is ever missing.
///
/// Belongs to the thread on which the transfer runs.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    /// The context of the callbacks. It lives until the cleanup has ended, which may call them a last time.
    private let context: AnyObject
    private let message: UnsafeMutablePointer<CChar>
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    /// - parameter scheme: of the URL; no other may be spoken.
    init(
        _ scheme: String, authorities: TLSContext.Authorities, timeout: Duration, context: AnyObject
    ) throws(FetchFailure) {
        if let problem = FetchLibrary.problem { throw .other(problem) }
        guard let pointer = hearth_curl_easy_init() else { throw .other("no memory for a transfer") }
        (self.pointer, self.context) = (pointer, context)
        message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try check(hearth_curl_set_error_buffer(pointer, message))
        try set(CURLOPT_PROTOCOLS_STR, scheme)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // Neither a proxy of the environment, which would hide the address, nor a connection that others have opened.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_FRESH_CONNECT, 1)
        try set(CURLOPT_FORBID_REUSE, 1)
        try set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // A look-up that hangs is left to its thread.
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_TIMEOUT_MS, max(1, timeout.milliseconds))
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, timeout.milliseconds))
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_SSL_CIPHER_LIST, "ECDHE+AESGCM:ECDHE+CHACHA20")
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        try trust(authorities)
    }

    deinit {
        hearth_curl_easy_cleanup(pointer)
        for list in lists { hearth_curl_list_free(list) }
        message.deallocate()
    }

    /// As OpenSSL does it: libcurl does not read these variables. The system's file alone is trusted otherwise: with a
    /// folder as well, libcurl would read all certificates again for each transfer, which takes 20 ms.
    private func trust(_ authorities: TLSContext.Authorities) throws(FetchFailure) {
        switch authorities {
        case .file(let path):
            try set(CURLOPT_CAINFO, path)
            // Later versions take none for the system's folder.
            try set(CURLOPT_CAPATH, "/nonexistent")
        case .system:
            if let file = getenv("SSL_CERT_FILE") { try set(CURLOPT_CAINFO, String(cString: file)) }
            try set(CURLOPT_CAPATH, getenv("SSL_CERT_DIR").map { String(cString: $0) })
        }
    }

    func set(_ option: CURLoption, _ value: Int) throws(FetchFailure) {
        try check(hearth_curl_set_number(pointer, option, value))
    }

    func set(_ option: CURLoption, _ text: String?) throws(FetchFailure) {
        try check(hearth_curl_set_text(pointer, option, text))
    }

    func set(_ option: CURLoption, lines: [String]) throws(FetchFailure) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = hearth_curl_list_append(list, line) else {
                hearth_curl_list_free(list)
                throw .other("no memory for a transfer")
            }
            list = longer
        }
        guard let list else { return }
        lists.append(list)
        try check(hearth_curl_set_list(pointer, option, list))
    }

    func check(_ code: CURLcode) throws(FetchFailure) {
        guard code == CURLE_OK else { throw .other("libcurl does not take an option: \(text(of: code))") }
    }

    /// The reason of a failure, as specific as there is one.
    func text(of code: CURLcode) -> String {
        message.pointee != 0 ? String(cString: message) : String(cString: hearth_curl_text(code))
    }
}

extension Duration {
    var milliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}

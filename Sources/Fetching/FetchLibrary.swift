import CHearthCurl

/// The distribution's libcurl, with which everything is fetched and sent.
package enum FetchLibrary {
    /// The reason for which it cannot be used; nil if it can. Loads it, which takes about 4 ms once.
    package static var problem: String? { hearth_curl_load().map { String(cString: $0) } }
}

/// The answer to an HTTP request that an administrator made on a realtime connection (administration.md 8).
package enum AdminCallAnswer {
    /// - parameter body: JSON.
    package static func json(status: Int, _ body: [UInt8]) -> [UInt8] {
        Array("{\"status\":\(status),\"body\":".utf8) + body + "}".utf8
    }
}

package import HearthEventLoop
package import HearthSystem

/// Where a server answers administrators, as programs on its machine reach it. It is kept in the data folder, so that
/// `hearth admin create-key` can say where tokens are available.
package struct AdminURL: Sendable {
    package let text: String

    /// Of a server that has not run yet, and then listens where it does unless it is told otherwise.
    package static let usual = AdminURL(.loopback(port: 9001), isSecure: false)

    package init(_ address: SocketAddress, isSecure: Bool) {
        // A socket that is bound to all addresses is reached at this one.
        let address = address.isUnspecified ? .loopback(port: address.port) : address
        text = "\(isSecure ? "https" : "http")://\(address)"
    }

    /// The one that was kept last; nil if none was.
    package init?(in folder: String) {
        guard let bytes = FileBytes.read(Self.file(in: folder)), !bytes.isEmpty else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }

    package func keep(in folder: String) throws(PrivateFile.Failure) {
        try PrivateFile.replace(Self.file(in: folder), with: Array(text.utf8))
    }

    private static func file(in folder: String) -> String { folder + "/admin-url" }
}

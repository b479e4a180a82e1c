import CHearthBench
import CHearthLinux
import Glibc

/// The target of a load.
struct Target {
    enum Kind: String, CaseIterable {
        /// `rows` is a floor that commits a row for each request.
        case floor, hearth, rows, redis
    }

    var kind: Kind
    var address: IPv4Address
    /// Its process, when it is on this machine and known.
    var process: Int32?
    /// The CPU it is pinned to.
    var cpu: Int?

    var name: String { kind.rawValue }
    /// Whether its frames are ready-made: of the right length, with no content.
    var isFloor: Bool { kind == .floor || kind == .rows }
}

/// An IPv4 address with a port, as the system wants it.
package struct IPv4Address: Equatable {
    private var native: sockaddr_in

    package init(loopback host: UInt8 = 1, port: UInt16) {
        native = sockaddr_in()
        native.sin_family = sa_family_t(AF_INET)
        native.sin_port = port.bigEndian
        native.sin_addr.s_addr = (0x7F00_0000 | UInt32(host)).bigEndian
    }

    /// Reads `127.0.0.1:9000`, also with `ws://` or `http://` before it and a `/` after.
    package init?(_ text: String) {
        var rest = Substring(text)
        for scheme in ["ws://", "http://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let port = UInt16(parts[1]) else { return nil }
        self.init(port: port)
        guard inet_pton(AF_INET, String(parts[0]), &native.sin_addr) == 1 else { return nil }
    }

    var port: UInt16 { UInt16(bigEndian: native.sin_port) }

    func withSystemAddress<Result>(_ body: (UnsafeRawPointer, UInt32) -> Result) -> Result {
        withUnsafeBytes(of: native) { body($0.baseAddress!, UInt32($0.count)) }
    }

    package static func == (a: IPv4Address, b: IPv4Address) -> Bool {
        a.native.sin_port == b.native.sin_port && a.native.sin_addr.s_addr == b.native.sin_addr.s_addr
    }
}

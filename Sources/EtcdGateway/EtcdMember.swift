/// Where a member of etcd takes requests of clients.
package struct EtcdMember: Hashable, Sendable, CustomStringConvertible {
    package static let portDefault: UInt16 = 2379

    /// A name or a numeric address, without brackets.
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16 = EtcdMember.portDefault) {
        self.host = host
        self.port = port
    }

    package var description: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// Reads `etcd://HOST[:PORT][,HOST[:PORT]]…`, where an IPv6 address is in brackets.
    package static func list(_ text: String) throws(EtcdAddressError) -> [EtcdMember] {
        let scheme = "etcd://"
        guard text.hasPrefix(scheme) else { throw EtcdAddressError("\(text) does not begin with \(scheme)") }
        var members: [EtcdMember] = []
        let list = text.dropFirst(scheme.count)
        for entry in list.split(separator: ",", omittingEmptySubsequences: false) {
            let member = try EtcdMember(entry)
            if members.contains(member) { throw EtcdAddressError("\(member) is named twice") }
            members.append(member)
        }
        return members
    }

    private init(_ entry: Substring) throws(EtcdAddressError) {
        var host = entry
        var port: Substring?
        let nameEnd = entry.hasPrefix("[") ? entry.firstIndex(of: "]") ?? entry.endIndex : entry.startIndex
        if let colon = entry[nameEnd...].firstIndex(of: ":") {
            host = entry[..<colon]
            port = entry[entry.index(after: colon)...]
        }
        if host.hasPrefix("[") {
            guard host.hasSuffix("]") else { throw EtcdAddressError("\(entry): the bracket is not closed") }
            host = host.dropFirst().dropLast()
        } else if port?.contains(":") == true {
            throw EtcdAddressError("\(entry): write an IPv6 address in brackets")
        }
        guard !host.isEmpty, !host.contains(where: { " /?#@[]".contains($0) }) else {
            throw EtcdAddressError("'\(entry)' is not HOST or HOST:PORT")
        }
        self.host = String(host)
        guard let port else {
            self.port = Self.portDefault
            return
        }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0 else {
            throw EtcdAddressError("\(entry): the port is not a number from 1 to 65535")
        }
        self.port = number
    }
}

/// Why a list of members cannot be used: one line for operators.
package struct EtcdAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

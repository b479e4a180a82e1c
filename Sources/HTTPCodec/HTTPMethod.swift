/// The request methods of RFC 9110 section 9 and RFC 5789. The raw value is the name's letters, first one highest.
package enum HTTPMethod: UInt64, CaseIterable, Sendable {
    case get = 0x47_45_54
    case put = 0x50_55_54
    case head = 0x48_45_41_44
    case post = 0x50_4F_53_54
    case patch = 0x50_41_54_43_48
    case trace = 0x54_52_41_43_45
    case delete = 0x44_45_4C_45_54_45
    case options = 0x4F_50_54_49_4F_4E_53
    case connect = 0x43_4F_4E_4E_45_43_54

    /// The method with exactly this name: method names are case-sensitive (RFC 9110 9.1).
    package init?(_ name: Span<UInt8>) { self.init(name) { $0 } }

    /// The method with this name in any case, as `X-HTTP-Method-Override` is compared (rest.md 1).
    package init?(ignoringCase name: Span<UInt8>) { self.init(name) { $0.asciiUppercased } }

    private init?(_ name: Span<UInt8>, _ letter: (UInt8) -> UInt8) {
        guard name.count < 8 else { return nil }
        var packed: UInt64 = 0
        for index in name.indices { packed = packed << 8 | UInt64(letter(name[index])) }
        self.init(rawValue: packed)
        // Leading NUL bytes leave no trace in the number.
        guard self.name.utf8CodeUnitCount == name.count else { return nil }
    }

    package var name: StaticString {
        switch self {
        case .get: "GET"
        case .put: "PUT"
        case .head: "HEAD"
        case .post: "POST"
        case .patch: "PATCH"
        case .trace: "TRACE"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .connect: "CONNECT"
        }
    }
}

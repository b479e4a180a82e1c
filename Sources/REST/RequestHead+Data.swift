import HearthBytes
import HearthHTTPCodec
package import HearthServerCodecs

extension RequestHead {
    static let uploadSuffix = Array("/.upload".utf8)

    /// A form that a tool's page posts with a file (rest.md 1).
    package var isUpload: Bool {
        method == .post && path.suffix(Self.uploadSuffix.count).elementsEqual(Self.uploadSuffix)
    }

    private static let historySuffix = Array("/.history.json".utf8)
    private static let findSuffix = Array("/.find.json".utf8)

    /// Whether the past of a place is meant (rest.md 9).
    var asksForHistory: Bool { path.suffix(Self.historySuffix.count).elementsEqual(Self.historySuffix) }

    /// Whether a query with conditions is meant (rest.md 10). `.find` is not a key, so other servers refuse the path.
    var asksToFind: Bool { path.suffix(Self.findSuffix.count).elementsEqual(Self.findSuffix) }

    /// The path of the data, without the suffix.
    var place: ArraySlice<UInt8> {
        if isUpload { return path.dropLast(Self.uploadSuffix.count) }
        if asksToFind { return path.dropLast(Self.findSuffix.count) }
        return path.dropLast(asksForHistory ? Self.historySuffix.count : ".json".utf8.count)
    }

    /// The database that a request means (Protocol.md 2.2, rest.md 1): `ns`, or the first label of a host name of
    /// three labels or more; empty for the default one. A client that was given an IP address may take its first number
    /// for a name.
    package var databaseName: String {
        let host = host.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false).first ?? []
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isAddress = labels.allSatisfy { $0.allSatisfy(\.isDigit) }
        let firstLabel = String(decoding: labels.first ?? [], as: UTF8.self).lowercased()
        if let name = query.first("ns"), !name.isEmpty {
            let name = String(decoding: name, as: UTF8.self)
            return isAddress && name == firstLabel ? "" : name
        }
        return isAddress || labels.count < 3 ? "" : firstLabel
    }
}

import HearthBytes
import HearthHTTPCodec
import HearthJSONTree
import HearthTreeQueries

/// The parameters of a request's query, as far as they are known here (rest.md 2). Unknown ones, and those that only
/// matter to credentials and rules, are passed over. Of several with one name the first counts.
package struct RESTParameters: Equatable {
    package enum Printing {
        case compact, pretty
        /// No body.
        case silent
    }

    package var printing = Printing.compact
    var isShallow = false
    var isExport = false
    /// The events of a stream have ids, which are positions (Protocol.md 18.2).
    var wantsIDs = false
    /// The file name under which a browser saves the answer.
    var download: [UInt8]?
    /// The function that the answer calls (JSONP).
    var callback: [UInt8]?
    /// The method in place of POST.
    var method: [UInt8]?
    /// How long a read may wait for its data.
    var timeout: Duration?
    /// The write makes no events of triggers. Administrators only.
    package var disablesTriggers = false
    var filters = RESTFilters()

    /// For the parameters of a write, see ``refuseForWrites()``.
    init(_ query: QueryString) throws(RESTError) {
        var seen: Set<String> = []
        for parameter in query {
            let name = String(decoding: parameter.name, as: UTF8.self)
            guard seen.insert(name).inserted else { continue }
            let value = Array(parameter.value)
            switch name {
            case "print":
                switch value {
                case Array("pretty".utf8): printing = .pretty
                case Array("silent".utf8): printing = .silent
                default: break
                }
            case "shallow": isShallow = value.elementsEqual("true".utf8)
            case "format": isExport = value.elementsEqual("export".utf8)
            case "find":
                throw RESTError("find is not a parameter: a query with conditions is GET /path/.find.json?query={…}")
            case "ids": wantsIDs = value.elementsEqual("true".utf8)
            case "download": download = value
            case "callback":
                guard Self.isFunctionName(value) else {
                    throw RESTError("callback must be the name of a JavaScript function")
                }
                callback = value
            case "timeout": timeout = try Self.timeout(value)
            case "disableTriggers": disablesTriggers = value.elementsEqual("true".utf8)
            case "writeSizeLimit": try Self.checkWriteSizeLimit(value)
            default:
                if name.lowercased() == "x-http-method-override" { method = value }
                filters.set(name, value)
            }
        }
    }

    /// The query of a request at `/path/.find.json`.
    func conditions(_ query: QueryString) throws(RESTError) -> Query {
        if isShallow || !filters.isEmpty {
            throw RESTError("a query with conditions cannot be combined with shallow, or orderBy and what goes with it")
        }
        guard let text = query.first("query") else { throw RESTError("the parameter query is missing") }
        do throws(QueryError) {
            return try ConditionParser.query(Array(text))
        } catch {
            throw RESTError("invalid query: \(error)")
        }
    }

    /// Filters apply to reads; writes do not have them.
    func refuseForWrites() throws(RESTError) {
        guard filters.isEmpty else {
            throw RESTError("Querying related parameters not supported on this request type")
        }
    }

    /// Identifiers with dots between them, in ASCII.
    private static func isFunctionName(_ name: [UInt8]) -> Bool {
        let parts = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return name.count <= 256
            && parts.allSatisfy { part in
                part.first.map { !$0.isDigit } ?? false && part.allSatisfy { isIdentifierByte($0) }
            }
    }

    private static func isIdentifierByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
    }

    /// `500ms`, `1.5s`, `3min`, at most 15 minutes.
    private static func timeout(_ value: [UInt8]) throws(RESTError) -> Duration {
        let digits = value.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
        let milliseconds: [[UInt8]: Double] = [
            Array("ms".utf8): 1, Array("s".utf8): 1000, Array("min".utf8): 60_000,
        ]
        guard (1...20).contains(digits.count), let number = Double(String(decoding: digits, as: UTF8.self)),
            let unit = milliseconds[Array(value.dropFirst(digits.count))], number > 0, number * unit <= 15 * 60_000
        else {
            throw RESTError("timeout must be a number with the unit ms, s or min, of at most 15min")
        }
        return .milliseconds(Int((number * unit).rounded(.up)))
    }

    /// Every size is taken: writes of any size cost other clients little here.
    private static func checkWriteSizeLimit(_ value: [UInt8]) throws(RESTError) {
        let sizes = ["tiny", "small", "medium", "large", "unlimited"]
        guard sizes.contains(where: { value.elementsEqual($0.utf8) }) else {
            throw RESTError("writeSizeLimit must be tiny, small, medium, large or unlimited")
        }
    }
}

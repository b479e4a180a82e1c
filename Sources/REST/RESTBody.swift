import HearthDelivery
import HearthHTTPCodec
import HearthJSONTree
import HearthRealtimeDatabase
import HearthServerCodecs
import HearthServerProtocol
import HearthTreeText
import HearthWireProtocol

/// The bodies of writes (rest.md 1).
enum RESTBody {
    /// Canonical text beyond this cannot be kept as one change. JSON text grows when it is made canonical only where
    /// arrays become objects.
    static let canonicalBytesMax = JSONLimits.maximumTextByteCount

    /// The file in a form.
    static func file(_ body: [UInt8], _ headers: HeaderFields) throws(RESTError) -> [UInt8] {
        guard let type = headers.first("content-type"), let file = MultipartForm.firstPart(of: body, contentType: type)
        else { throw RESTError("the body is not a form with a file") }
        return Array(file)
    }

    /// Uses the body's memory, so that a large value takes little more.
    static func value(_ body: inout [UInt8], for target: WriteTarget) throws(RESTError) -> IncomingValue {
        if isBlank(body) { throw .noData }
        do throws(RequestError) {
            return IncomingValue(try WireAssignment.parse(using: &body, for: target))
        } catch {
            throw RESTError(error, in: body)
        }
    }

    /// An object sets the places that its keys name; null removes everything at the place, as the command line tools of
    /// Firebase ask (rest.md 1). Uses the body's memory if that is large.
    ///
    /// - returns: the operation, and the body as it came, without white space, if it `echoes`.
    static func update(
        _ body: inout [UInt8], at base: Path, echoes: Bool
    ) throws(RESTError) -> (Operation, echo: [UInt8]) {
        switch body.first(where: { !isWhiteSpace($0) }) {
        case nil: throw .noData
        case UInt8(ascii: "{"): break
        default:
            var text = body
            guard try value(&text, for: WriteTarget(path: base)).json.isNull, !body.contains(UInt8(ascii: "[")) else {
                throw .notAnObject
            }
            let nothing = IncomingValue(json: .null)
            return (.set(WriteTarget(path: base), nothing), nothing.json.bytes)
        }
        let original = echoes ? body : []
        func echo() -> [UInt8] { echoes ? JSONLayout(isPretty: false).text(original) : [] }
        do throws(RequestError) {
            if let (value, hasServerValues) = try WireAssignment.parseChildren(
                using: &body, base: base, bytesMin: Operation.largeBytesMin, countMin: Operation.largeCountMin)
            {
                return (.setChildren(base, IncomingValue(json: value, hasServerValues: hasServerValues)), echo())
            }
            let entries = try body.span.bytes.withUnsafeBytes { (text) throws(RequestError) in
                try WireAssignment.parse(text, base: base).map { ($0.target, IncomingValue($0)) }
            }
            let bytes = entries.reduce(0) { $0 + $1.1.json.bytes.count }
            if bytes > canonicalBytesMax { throw RequestError.value(JSONError(.textTooLong, at: 0)) }
            return (.update(base: base, entries), echo())
        } catch {
            throw RESTError(error, in: body)
        }
    }

    private static func isBlank(_ body: [UInt8]) -> Bool { body.allSatisfy(isWhiteSpace) }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

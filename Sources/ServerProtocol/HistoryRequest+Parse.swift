import HearthJSONTree
import HearthWireProtocol

extension HistoryRequest {
    /// Reads the body of a message, as ``AdminRequest/parse(message:)``.
    static func parse(message: UnsafeRawBufferPointer) throws(RequestError) -> HistoryRequest {
        let fields: Fields
        do throws(JSONError) { fields = try Fields(try AdminRequest.body(of: message)) } catch { throw .value(error) }
        return try fields.request()
    }

    private struct Fields {
        private var path: [UInt8]?
        private var command: [UInt8] = []
        private var numbers: [String: Int64] = [:]
        private static let names: Set<String> = ["at", "seq", "to", "toSeq", "before", "n"]

        init(_ text: UnsafeRawBufferPointer?) throws(JSONError) {
            guard let text, text.first == UInt8(ascii: "{") else { return }
            var fields = self
            var reader = JSONReader(text)
            try reader.forEachMember { (reader, name) throws(JSONError) in
                if name.equals("p") { return fields.path = try reader.string() }
                if name.equals("c") { return fields.command = try reader.string() }
                let name = String(decoding: name.prefix(8), as: UTF8.self)
                guard Self.names.contains(name) else { return _ = try reader.skipValue() }
                fields.numbers[name] = try reader.integer()
            }
            self = fields
        }

        func request() throws(RequestError) -> HistoryRequest {
            guard let path else { throw .missing("path \"p\"") }
            let place: Path
            do throws(PathError) { place = try Path(parsing: path) } catch { throw .path(error) }
            return HistoryRequest(place, try command(limit: numbers["n"].map { Int(clamping: max($0, 0)) }))
        }

        private func command(limit: Int?) throws(RequestError) -> Command {
            switch String(decoding: command, as: UTF8.self) {
            case "get": return .get(try start())
            case "restore": return .restore(try start())
            case "log": return .log(before: numbers["before"].map { UInt64(clamping: $0) }, limit: limit)
            case "diff": return .difference(from: try start(), to: moment("to", "toSeq"), limit: limit)
            default: throw .missing("command \"c\"")
            }
        }

        private func start() throws(RequestError) -> Moment {
            guard let moment = moment("at", "seq") else { throw .missing("moment \"at\" or \"seq\"") }
            return moment
        }

        private func moment(_ time: String, _ sequence: String) -> Moment? {
            if let sequence = numbers[sequence] { return .sequence(UInt64(clamping: sequence)) }
            return numbers[time].map { .time($0) }
        }
    }
}
